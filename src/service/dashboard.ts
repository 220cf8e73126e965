/**
 * The dashboard's files, served with a content policy that allows nothing from elsewhere: no
 * script, style, image or connection but of this origin.
 */
import { readFile } from "node:fs/promises";
import { extname, join, normalize, sep } from "node:path";
import type { Hono } from "hono";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Mounts the built dashboard at `/`. */
export function mountDashboard(app: Hono, folder: string): void {
  app.get("*", async (c) => {
    const path = c.req.path === "/" ? "index.html" : normalize(c.req.path).slice(1);
    const type = TYPES[extname(path)];
    if (type === undefined || path.startsWith("..") || path.includes(`..${sep}`)) {
      return c.notFound();
    }
    const body = await readFile(join(folder, path)).catch(() => null);
    if (body === null) return c.notFound();
    return c.body(body, 200, {
      "content-type": type,
      "content-security-policy": POLICY,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": path === "index.html" ? "no-cache" : "max-age=31536000, immutable",
    });
  });
}
