/** The product's version, as its package says. */
import { readFileSync } from "node:fs";

const PACKAGE = new URL("../../package.json", import.meta.url);

/** Version of this package. */
export const VERSION = (JSON.parse(readFileSync(PACKAGE, "utf8")) as { version: string }).version;
