/** The dashboard: one page at a time, chosen by the address after `#`. */
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { adoptToken } from "./api.js";
import { EvaluationPage } from "./pages/evaluation.js";
import { PlaygroundPage } from "./pages/playground.js";
import { RolloutsPage } from "./pages/rollouts.js";
import { RunPage } from "./pages/run.js";
import { RunsPage } from "./pages/runs.js";

/** Where the address leads: `#/run/NAME/rollouts?step_from=3`. */
export interface Route {
  page: string;
  run: string;
  query: URLSearchParams;
}

function readRoute(): Route {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [page = "", run = "", section = ""] = path.split("/");
  return {
    page: page === "run" && section !== "" ? section : page,
    run: decodeURIComponent(run),
    query: new URLSearchParams(query),
  };
}

type Theme = "auto" | "light" | "dark";
const THEMES: Theme[] = ["auto", "light", "dark"];

function App() {
  const [route, setRoute] = useState(readRoute());
  const [theme, setTheme] = useState<Theme>((localStorage.getItem("theme") as Theme) ?? "auto");
  useEffect(() => {
    const onChange = () => {
      setRoute(readRoute());
      document.querySelector<HTMLElement>("main")?.focus();
    };
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  document.documentElement.dataset["theme"] = theme;
  const nextTheme = () => {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    localStorage.setItem("theme", next);
    setTheme(next);
  };
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <nav aria-label="Main">
        <a class="brand" href="#/">
          <img src="./icon.svg" alt="" width="22" height="22" /> code-rlvr
        </a>
        <a href="#/" aria-current={route.page === "" ? "page" : undefined}>
          Runs
        </a>
        <a href="#/playground" aria-current={route.page === "playground" ? "page" : undefined}>
          Playground
        </a>
        <button class="quiet" onClick={nextTheme} title="Colour theme">
          ◐ {theme}
        </button>
      </nav>
      <main id="main" tabIndex={-1}>
        <Page key={`${route.page}/${route.run}`} route={route} />
      </main>
    </>
  );
}

function Page({ route }: { route: Route }) {
  switch (route.page) {
    case "":
      return <RunsPage />;
    case "run":
      return <RunPage run={route.run} />;
    case "rollouts":
      return <RolloutsPage run={route.run} query={route.query} />;
    case "evaluation":
      return <EvaluationPage run={route.run} />;
    case "playground":
      return <PlaygroundPage />;
    default:
      return (
        <p class="state">
          There is no such page. <a href="#/">To the runs</a>
        </p>
      );
  }
}

adoptToken();
render(<App />, document.getElementById("app") as HTMLElement);
