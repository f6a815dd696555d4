// Builds the example into example/dist; with --serve, serves it and builds again after every
// change.
//
//   npm run example      then open the printed address with ?server=…&key=pk_…&flow=fl_…

import { context } from "esbuild";

const OPTIONS = {
  entryPoints: [new URL("app.tsx", import.meta.url).pathname],
  outdir: new URL("dist", import.meta.url).pathname,
  bundle: true,
  format: "esm",
  jsx: "automatic",
  minify: true,
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
};

const build = await context(OPTIONS);
if (process.argv.includes("--serve")) {
  await build.watch();
  const { hosts, port } = await build.serve({ host: "127.0.0.1", servedir: new URL(".", import.meta.url).pathname });
  console.log(`http://${hosts[0]}:${port}/?server=http://127.0.0.1:8080&key=pk_…&flow=fl_…`);
} else {
  await build.rebuild();
  await build.dispose();
}
