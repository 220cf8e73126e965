/** The library: the doors of the rooms. */
export * from "./core/errors.js";
