/** What JSON can say. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
/** What {@link Json} calls an object. */
export type JsonObject = { [key: string]: Json };

/** The tags (`number << 3 | wire type`) of google.protobuf's Value, Struct, ListValue and Struct's map entry. */
export const TAG = { null: 0x08, number: 0x11, string: 0x1a, bool: 0x20, struct: 0x2a, list: 0x32, element: 0x0a, key: 0x0a, value: 0x12 } as const;
