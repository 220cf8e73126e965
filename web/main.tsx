/** The dashboard: one page at a time, chosen by the address after `#`. */
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { readRoute, type Route, titleOf } from "./address.js";
import { adoptToken } from "./api.js";
import { EvaluationPage } from "./pages/evaluation.js";
import { PlaygroundPage } from "./pages/playground.js";
import { RolloutsPage } from "./pages/rollouts.js";
import { RunPage } from "./pages/run.js";
import { RunsPage } from "./pages/runs.js";

type Theme = "auto" | "light" | "dark";
const THEMES: Theme[] = ["auto", "light", "dark"];

function App() {
  const [route, setRoute] = useState(readRoute());
  const [theme, setTheme] = useState<Theme>((localStorage.getItem("theme") as Theme) ?? "auto");
  const isSystemDark = useSystemDark();
  useEffect(() => {
    const onChange = () => setRoute(readRoute());
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  const title = titleOf(route);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = title;
    // Only another page takes the focus, not another filter of the same.
    if (!isFirst.current) focusMain();
    isFirst.current = false;
  }, [title]);
  document.documentElement.dataset["theme"] = theme;
  // What charts are drawn in: a canvas does not follow the system by itself.
  document.documentElement.dataset["scheme"] = theme === "auto" ? schemeOf(isSystemDark) : theme;
  const nextTheme = () => {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    localStorage.setItem("theme", next);
    setTheme(next);
  };
  return (
    <>
      <a
        class="skip"
        href={location.hash}
        onClick={(event) => {
          event.preventDefault();
          focusMain();
        }}
      >
        Skip to content
      </a>
      <nav aria-label="Main">
        <a class="brand" href="#/">
          <img src="./icon.svg" alt="" width="22" height="22" /> code-rlvr
        </a>
        <a href="#/" aria-current={route.page === "runs" ? "page" : undefined}>
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

const focusMain = () => document.querySelector<HTMLElement>("main")?.focus();
const schemeOf = (isDark: boolean): Theme => (isDark ? "dark" : "light");

/** True while the system asks for dark pages. */
function useSystemDark(): boolean {
  const [query] = useState(() => matchMedia("(prefers-color-scheme: dark)"));
  const [isDark, setIsDark] = useState(query.matches);
  useEffect(() => {
    const onChange = () => setIsDark(query.matches);
    query.addEventListener("change", onChange);
    return () => query.removeEventListener("change", onChange);
  }, []);
  return isDark;
}

function Page({ route }: { route: Route }) {
  switch (route.page) {
    case "runs":
      return <RunsPage />;
    case "run":
      return <RunPage run={route.run} />;
    case "rollouts":
      return <RolloutsPage run={route.run} query={route.query} />;
    case "evaluation":
      return <EvaluationPage run={route.run} />;
    case "playground":
      return <PlaygroundPage />;
    case "nowhere":
      return (
        <p class="state">
          There is no such page. <a href="#/">To the runs</a>
        </p>
      );
  }
}

adoptToken();
render(<App />, document.getElementById("app") as HTMLElement);
