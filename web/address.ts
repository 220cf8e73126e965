/** The address after `#`: which page it names, and changing it without a step in the history. */

/** Pages of one run, by their part of the address. */
const RUN_PAGES = ["run", "rollouts", "evaluation"] as const;

/** Where the address leads: `#/run/NAME/rollouts?step_from=3`. */
export interface Route {
  page: "runs" | "playground" | "nowhere" | (typeof RUN_PAGES)[number];
  /** Empty for pages of no run. */
  run: string;
  query: URLSearchParams;
}

/** Reads the address. */
export function readRoute(): Route {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const query = new URLSearchParams(search);
  const [first, name = "", section = "run", ...rest] = path.split("/");
  if (path === "") return { page: "runs", run: "", query };
  if (path === "playground") return { page: "playground", run: "", query };
  const page = RUN_PAGES.find((one) => one === section);
  const run = decode(name);
  if (first !== "run" || page === undefined || run === "" || rest.length > 0) {
    return { page: "nowhere", run: "", query };
  }
  return { page, run, query };
}

/** Names the page in the browser's tab. */
export function titleOf({ page, run, query }: Route): string {
  const [step, group] = [query.get("step"), query.get("group")];
  const parts: Record<Route["page"], string[]> = {
    runs: ["Runs"],
    playground: ["Playground"],
    nowhere: ["No such page"],
    run: [run],
    rollouts: [run, step !== null && group !== null ? `Step ${step}, group ${group}` : "Rollouts"],
    evaluation: [run, "Evaluation"],
  };
  return [...parts[page], "code-rlvr"].join(" · ");
}

/** Puts another address in the place of the present one, as what is typed into a filter does. */
export function replaceAddress(hash: string): void {
  history.replaceState(null, "", hash);
  dispatchEvent(new Event("hashchange"));
}

/** A part of an address cut in the middle of a character is no name; empty stands for that. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
