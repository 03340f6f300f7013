/** The thinking levels of a host, weakest first. */
export const THINKING_LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** A level of {@link THINKING_LEVELS}. */
export type ThinkingLevel = (typeof THINKING_LEVELS)[number];

/** The ids of the parameters by which a family publishes effort; the first that decides wins. */
export const EFFORT_PARAMETERS = ["reasoning_effort", "reasoning", "effort", "thinking"] as const;

/** What the service calls the levels. A switch that is only on is the level that hosts choose by default. */
const LEVEL_OF: Readonly<Record<string, ThinkingLevel>> = Object.assign(Object.create(null) as Record<string, ThinkingLevel>, {
  off: "off",
  none: "off",
  false: "off",
  disabled: "off",
  minimal: "minimal",
  low: "low",
  medium: "medium",
  true: "medium",
  on: "medium",
  enabled: "medium",
  high: "high",
  xhigh: "xhigh",
  "x-high": "xhigh",
  extra_high: "xhigh",
  "extra-high": "xhigh",
  max: "max",
} satisfies Record<string, ThinkingLevel>);

/** The level that a variant's parameters mean, if they name one that is known. Thinking that is off is off at any effort. */
export function levelOf(parameters: ReadonlyMap<string, string>): ThinkingLevel | undefined {
  const levels = EFFORT_PARAMETERS.map((id) => LEVEL_OF[(parameters.get(id) ?? "").toLowerCase()]);
  return levels.at(-1) === "off" ? "off" : levels.find((level) => level !== undefined);
}
