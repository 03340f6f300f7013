import { int32, message, nested, oneof, optional, repeated, string, text, uint32 } from "../../wire/index.ts";
import { FetchArgs, SetupVmEnvironmentArgs, SetupVmEnvironmentResult } from "./exec-rest.ts";

/** §7: a search on the web. */
export const WebSearchArgs = message({ searchTerm: text(1), toolCallId: string(2) });

/** §7, query 2: may the service search the web? */
export const WebSearchRequestQuery = message({ args: nested(1, WebSearchArgs) });

/** §7, query 2: it may. */
export const WebSearchRequestResponse_Approved = message({});

/** §7, query 2: it may not. */
export const WebSearchRequestResponse_Rejected = message({ reason: text(1) });

/** §7, query 2: the answer. */
export const WebSearchRequestResponse = message({
  ...oneof("result", {
    approved: nested(1, WebSearchRequestResponse_Approved),
    rejected: nested(2, WebSearchRequestResponse_Rejected),
  }),
});

/** §7, query 3: a question for the user. */
export const AskQuestionInteractionQuery = message({ toolCallId: string(2) });

/** §7, query 3: why there is no answer. */
export const AskQuestionError = message({ errorMessage: text(1) });

/** §7, query 3: the question is refused. */
export const AskQuestionRejected = message({ reason: text(1) });

/** §7, query 3: what became of the question. */
export const AskQuestionResult = message({
  ...oneof("result", { error: nested(2, AskQuestionError), rejected: nested(3, AskQuestionRejected) }),
});

/** §7, query 3: the answer. */
export const AskQuestionInteractionResponse = message({ result: nested(1, AskQuestionResult) });

/** §7, query 4: another mode. */
export const SwitchModeArgs = message({ targetModeId: string(1), explanation: optional(text(2)), toolCallId: string(3) });

/** §7, query 4: may the mode change? */
export const SwitchModeRequestQuery = message({ args: nested(1, SwitchModeArgs) });

/** §7, query 4: it may. */
export const SwitchModeRequestResponse_Approved = message({});

/** §7, query 4: it may not. */
export const SwitchModeRequestResponse_Rejected = message({ reason: text(1) });

/** §7, query 4: the answer. */
export const SwitchModeRequestResponse = message({
  ...oneof("result", {
    approved: nested(1, SwitchModeRequestResponse_Approved),
    rejected: nested(2, SwitchModeRequestResponse_Rejected),
  }),
});

/** §7, query 5: a search. */
export const ExaSearchArgs = message({ query: text(1), type: text(2), numResults: int32(3), toolCallId: string(4) });

/** §7, query 5: may the service search? */
export const ExaSearchRequestQuery = message({ args: nested(1, ExaSearchArgs) });

/** §7, query 5: it may. */
export const ExaSearchRequestResponse_Approved = message({});

/** §7, query 5: it may not. */
export const ExaSearchRequestResponse_Rejected = message({ reason: text(1) });

/** §7, query 5: the answer. */
export const ExaSearchRequestResponse = message({
  ...oneof("result", {
    approved: nested(1, ExaSearchRequestResponse_Approved),
    rejected: nested(2, ExaSearchRequestResponse_Rejected),
  }),
});

/** §7, query 6: pages to fetch. */
export const ExaFetchArgs = message({ ids: repeated(text(1)), toolCallId: string(2) });

/** §7, query 6: may the service fetch? */
export const ExaFetchRequestQuery = message({ args: nested(1, ExaFetchArgs) });

/** §7, query 6: it may. */
export const ExaFetchRequestResponse_Approved = message({});

/** §7, query 6: it may not. */
export const ExaFetchRequestResponse_Rejected = message({ reason: text(1) });

/** §7, query 6: the answer. */
export const ExaFetchRequestResponse = message({
  ...oneof("result", {
    approved: nested(1, ExaFetchRequestResponse_Approved),
    rejected: nested(2, ExaFetchRequestResponse_Rejected),
  }),
});

/** §7, query 7: a plan for the user. */
export const CreatePlanRequestQuery = message({ toolCallId: string(2) });

/** §7, query 7: why it was not shown. */
export const CreatePlanError = message({ error: text(1) });

/** §7, query 7: what became of the plan. */
export const CreatePlanResult = message({
  ...oneof("result", { error: nested(2, CreatePlanError) }),
  planUri: string(3),
});

/** §7, query 7: the answer. */
export const CreatePlanRequestResponse = message({ result: nested(1, CreatePlanResult) });

/** §7, query 9: may the service fetch a page? */
export const WebFetchRequestQuery = message({ args: nested(1, FetchArgs) });

/** §7, query 9: it may. */
export const WebFetchRequestResponse_Approved = message({});

/** §7, query 9: it may not. */
export const WebFetchRequestResponse_Rejected = message({ reason: text(1) });

/** §7, query 9: the answer. */
export const WebFetchRequestResponse = message({
  ...oneof("result", {
    approved: nested(1, WebFetchRequestResponse_Approved),
    rejected: nested(2, WebFetchRequestResponse_Rejected),
  }),
});

/** §7.1, queries 10 to 14: only their numbers are known. */
export const UnnamedQuery = message({});

/** §7.1, queries 11 to 14: yes. */
export const UnnamedQueryApproved = message({});

/** §7.1, queries 10 to 14: no; whether all of them have room for a reason isn't known. */
export const UnnamedQueryRejected = message({ reason: text(1) });

/** §7.1, queries 11, 12 and 14: the answer. */
export const UnnamedQueryResponse = message({
  ...oneof("result", { approved: nested(1, UnnamedQueryApproved), rejected: nested(2, UnnamedQueryRejected) }),
});

/** §7.1, query 10: the answer. */
export const RejectedOnlyResponse = message({ ...oneof("result", { rejected: nested(3, UnnamedQueryRejected) }) });

/** §7.1, query 13: the answer. */
export const OutcomeResponse = message({
  ...oneof("result", { success: nested(1, UnnamedQueryApproved), failure: nested(2, UnnamedQueryRejected) }),
});

/** §7: a question to the host. Its cases are the rows of {@link QUERIES}. */
export const InteractionQuery = message({
  id: uint32(1),
  ...oneof("query", {
    webSearchRequestQuery: nested(2, WebSearchRequestQuery),
    askQuestionInteractionQuery: nested(3, AskQuestionInteractionQuery),
    switchModeRequestQuery: nested(4, SwitchModeRequestQuery),
    exaSearchRequestQuery: nested(5, ExaSearchRequestQuery),
    exaFetchRequestQuery: nested(6, ExaFetchRequestQuery),
    createPlanRequestQuery: nested(7, CreatePlanRequestQuery),
    setupVmEnvironmentArgs: nested(8, SetupVmEnvironmentArgs),
    webFetchRequestQuery: nested(9, WebFetchRequestQuery),
    query10: nested(10, UnnamedQuery),
    query11: nested(11, UnnamedQuery),
    query12: nested(12, UnnamedQuery),
    query13: nested(13, UnnamedQuery),
    query14: nested(14, UnnamedQuery),
  }),
});

/** §7: the answer, with the `id` of its query. */
export const InteractionResponse = message({
  id: uint32(1),
  ...oneof("result", {
    webSearchRequestResponse: nested(2, WebSearchRequestResponse),
    askQuestionInteractionResponse: nested(3, AskQuestionInteractionResponse),
    switchModeRequestResponse: nested(4, SwitchModeRequestResponse),
    exaSearchRequestResponse: nested(5, ExaSearchRequestResponse),
    exaFetchRequestResponse: nested(6, ExaFetchRequestResponse),
    createPlanRequestResponse: nested(7, CreatePlanRequestResponse),
    setupVmEnvironmentResult: nested(8, SetupVmEnvironmentResult),
    webFetchRequestResponse: nested(9, WebFetchRequestResponse),
    response10: nested(10, RejectedOnlyResponse),
    response11: nested(11, UnnamedQueryResponse),
    response12: nested(12, UnnamedQueryResponse),
    response13: nested(13, OutcomeResponse),
    response14: nested(14, UnnamedQueryResponse),
  }),
});
