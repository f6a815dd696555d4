/** The payload generation that this client reads. */
export const PAYLOAD_GENERATION = "4";

export type PayloadGeneration = typeof PAYLOAD_GENERATION;
