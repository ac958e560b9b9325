import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { buildNodePrograms } from '../../../testing/node-programs';
import { waitFor } from '../../../testing/wait-for';
import { CacheProfiler } from '../../diagnostics/cache-profiler';
import { Profiler } from '../../diagnostics/profiler';
import { ResourceProfiler } from '../../diagnostics/resource-profiler';
import { ref, task } from '../../graph/nodes';
import { getSync } from '../../local/get-sync';
import { cachePlot } from '../cache-plot';
import type { TimeRange } from '../plots';
import { resourcePlot } from '../resource-plot';
import { taskPlot } from '../task-plot';
import { visualize } from '../visualize';
import { cacheRecord, plottable, taskRecord } from './records';

const wicked = `</script><script>document.title = 'taken'</script><!--"'&`;
let folder: string;

beforeAll(() => {
  buildNodePrograms('visualize-page.js');
  folder = mkdtempSync(join(tmpdir(), 'spanwise-test-'));
});

afterAll(() => rmSync(folder, { recursive: true }));

function thrownBy(call: () => unknown): Error {
  try {
    call();
  } catch (error) {
    return error as Error;
  }
  throw new Error('Nothing was thrown.');
}

/** What the page unpacks. */
function pictureIn(html: string): { plots: Record<string, unknown>[] } {
  const [, packed] = /<script type="text\/plain" id="picture">([^<]*)</.exec(
    html
  )!;
  return JSON.parse(gunzipSync(Buffer.from(packed!, 'base64')).toString());
}

const inc = (x: number) => x + 1;
const graph = { one: 1, x: task(inc, ref('one')) };

describe('visualize', () => {
  it('§4: draws what real profilers recorded, alone and together', () => {
    const profiler = new Profiler();
    const cache = new CacheProfiler();
    profiler.run(() => cache.run(() => getSync(graph, 'x')));
    const alone = profiler.visualize();
    expect(alone.layout['title']).toMatchObject({ text: 'Profile Results' });
    expect(cache.visualize({ title: 'Held' }).layout['title']).toMatchObject({
      text: 'Held'
    });
    const { layout } = visualize([profiler, cache]);
    expect(layout).toHaveProperty('yaxis');
    expect(layout).toHaveProperty('yaxis3');
    expect(visualize([profiler]).toJSON()).toEqual(alone.toJSON());
  });

  it('§4: works without records, inside the block, and registered', () => {
    const profiler = new Profiler();
    expect(profiler.visualize().layout['xaxis']).toMatchObject({
      range: [0, 10]
    });
    profiler.run(() => {
      getSync(graph, 'x');
      // The block has no end yet: the last record's stands in.
      const { range } = profiler.visualize().layout['xaxis'] as {
        range: [number, number];
      };
      expect(range[1]).toBe(profiler.results[0]!.endTime - profiler.startTime!);
    });
    const registered = new Profiler();
    registered.register();
    try {
      getSync(graph, 'x');
    } finally {
      registered.unregister();
    }
    expect(registered.visualize().data.length).toBeGreaterThan(0);
  });

  it('§4.2: the time of resources alone is 1 s at least; without samples too', () => {
    const rangeOf = (timeRange: TimeRange | null) =>
      visualize(
        plottable(
          origin => resourcePlot([{ time: 1000.1, mem: 1, cpu: 1 }], origin),
          timeRange
        )
      ).layout['xaxis'];
    expect(rangeOf({ start: 1000, end: 1000.25 })).toMatchObject({
      range: [0, 1]
    });
    expect(rangeOf({ start: 1000, end: 1003 })).toMatchObject({
      range: [0, 3]
    });
    expect(rangeOf(null)).toMatchObject({ range: [0, 1] });
  });

  it('§4.1, §4.3, §4.4: without any records', () => {
    const profilers = [
      new Profiler(),
      new ResourceProfiler(),
      new CacheProfiler()
    ];
    const { data, layout } = visualize(profilers);
    expect(data.flatMap(({ x }) => x ?? []).filter(x => x !== null)).toEqual(
      []
    );
    expect(layout['xaxis']).toMatchObject({ range: [0, 10] });
    expect(profilers[2]!.visualize().layout['xaxis']).toMatchObject({
      range: [0, 10]
    });
  });

  it('§4.4: plots begin at the earliest block, so that equal moments lie below each other', () => {
    const seen: number[] = [];
    const late = plottable(
      origin => {
        seen.push(origin);
        return taskPlot([], origin, 60);
      },
      { start: 1003, end: 1011 }
    );
    const early = plottable(
      origin => {
        seen.push(origin);
        return cachePlot([], 'count', origin, 60);
      },
      { start: 1001, end: 1010 }
    );
    const { layout } = visualize([late, early]);
    expect(seen).toEqual([1001, 1001]);
    expect(layout['xaxis']).toMatchObject({ range: [0, 10] });
  });

  it('§4: an unknown option, and what is no profiler, are named', () => {
    const profiler = new Profiler();
    expect(() => profiler.visualize({ colour: 'red' } as never)).toThrow(
      /no option 'colour'/
    );
    expect(() => visualize([])).toThrow(TypeError);
    expect(() => visualize([{}] as never)).toThrow(
      /Profiler, ResourceProfiler and CacheProfiler/
    );
  });

  it('§4: returns plain data: the figure survives JSON', () => {
    const figure = visualize(
      plottable(origin => taskPlot([taskRecord(0, 1, 1, 2)], origin, 60))
    );
    expect(JSON.parse(JSON.stringify(figure))).toEqual(figure.toJSON());
    expect(figure.toJSON()).not.toHaveProperty('_picture');
  });

  it('§4: with a filename writes one HTML file that may load nothing', () => {
    const path = join(folder, 'profile.html');
    visualize(
      plottable(origin =>
        taskPlot([taskRecord(0, 1, 1, 2, wicked)], origin, 60)
      ),
      { filename: path, title: wicked }
    );
    const html = readFileSync(path, 'utf8');
    const [, policy] =
      /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
    const scripts = [...html.matchAll(/<script>([^]*?)<\/script>/g)];
    expect(scripts).toHaveLength(1);
    const hash = createHash('sha256').update(scripts[0]![1]!).digest('base64');
    expect(policy).toContain(`script-src 'sha256-${hash}'`);
    // Short answers: a difference would print a megabyte.
    expect(/<(script|link|img|iframe)[^>]* (src|href)=/.test(html)).toBe(false);
    // The key is data, wherever it stands.
    expect(html.includes("document.title = 'taken'</script>")).toBe(false);
    expect(pictureIn(html).plots[0]!['keys']).toEqual([wicked]);
    expect(html.includes('&lt;/script&gt;&lt;script&gt;')).toBe(true);
  });

  it('§4: takes a file URL', () => {
    const path = join(folder, 'by url.html');
    visualize(
      plottable(origin => resourcePlot([], origin)),
      {
        filename: pathToFileURL(path)
      }
    );
    expect(existsSync(path)).toBe(true);
  });

  it('says before it draws where its file cannot be written', () => {
    let drawn = 0;
    const profiler = plottable(origin => {
      drawn++;
      return resourcePlot([], origin);
    });
    const missing = join(folder, 'nowhere', 'profile.html');
    for (const [filename, code, says] of [
      [folder, 'EISDIR', `cannot write to '${folder}': it is a folder`],
      [missing, 'ENOENT', `there is no folder ${join(folder, 'nowhere')}.`],
      [pathToFileURL(missing), 'ENOENT', `cannot write to '${missing}'`]
    ] as const) {
      const error = thrownBy(() => visualize(profiler, { filename }));
      expect(error).toMatchObject({ code });
      expect(error.message).toContain(says);
    }
    expect(() =>
      visualize(profiler, { filename: new URL('https://example.org/a.html') })
    ).toThrow('a path or a file URL, not https://example.org/a.html.');
    expect(drawn).toBe(0);
  });

  it('§4: show opens the file in the browser that the environment names', async () => {
    const opened = join(folder, 'opened');
    const browser = join(folder, 'browser.sh');
    writeFileSync(
      browser,
      `#!/bin/sh\nprintf '%s' "$1" > "${opened}.part"\nmv "${opened}.part" "${opened}"\n`
    );
    chmodSync(browser, 0o700);
    const before = process.env['BROWSER'];
    process.env['BROWSER'] = browser;
    try {
      visualize(
        plottable(origin => resourcePlot([], origin)),
        { show: true }
      );
    } finally {
      if (before === undefined) {
        delete process.env['BROWSER'];
      } else {
        process.env['BROWSER'] = before;
      }
    }
    await waitFor('the browser', () => existsSync(opened));
    const path = readFileSync(opened, 'utf8');
    expect(readFileSync(path, 'utf8')).toContain('<!doctype html>');
    rmSync(join(path, '..'), { recursive: true });
  });

  it('issue 4 point 6: has the forms that Jupyter understands', () => {
    const figure = visualize(
      plottable(origin => taskPlot([taskRecord(0, 1, 1, 2)], origin, 60))
    );
    const display = (
      figure as unknown as Record<symbol, () => Record<string, unknown>>
    )[Symbol.for('Jupyter.display')]!;
    const forms = display.call(figure);
    expect(forms['application/vnd.plotly.v1+json']).toEqual(figure.toJSON());
    const [, attributes, srcdoc] =
      /^<iframe ([^"]*"[^"]*" style="[^"]*") srcdoc="([^"]*)"><\/iframe>$/.exec(
        forms['text/html'] as string
      )!;
    // Its scripts run, but not as scripts of the notebook.
    expect(attributes).toContain('sandbox="allow-scripts allow-downloads"');
    const html = srcdoc!.replace(/&quot;/g, '"').replace(/&amp;/g, '&');
    expect(html === figure.toHtml()).toBe(true);
  });

  it('issue 4 point 6: IJavascript asks for the same forms by _toMime', () => {
    const figure = visualize(
      plottable(origin => taskPlot([taskRecord(0, 1, 1, 2)], origin, 60)),
      { title: 'Two <b>' }
    );
    const asked = figure as unknown as Record<
      string | symbol,
      () => Record<string, unknown>
    >;
    const forms = asked['_toMime']!();
    expect(forms).toEqual(asked[Symbol.for('Jupyter.display')]!());
    // Without a form of text that kernel would send what a console shows.
    expect(forms['text/plain']).toBe(
      'Two <b>: 1 task on 1 worker in 1.00 s, 100 % of the time busy'
    );
    expect(inspect(figure)).toBe(`Figure { ${String(forms['text/plain'])} }`);
  });

  it('issue 4 point 6: 50,000 tasks and results and 1,000 samples make less than 5 MB', () => {
    const records = Array.from({ length: 50_000 }, (_, index) => {
      const from = Math.floor(index / 4) * 1e-3 + (index % 7) * 1e-5;
      const key = `('tsqr-8d16e396b237bf7a731333130d310cb9_QR_st1', ${index}, 0)`;
      return taskRecord(index % 3, index % 4, from, from + 9e-4, key);
    });
    const held = records.map((_, index) =>
      cacheRecord(index % 3, index / 4000, index / 4000 + (index % 11), index)
    );
    const samples = Array.from({ length: 1000 }, (_, index) => ({
      time: 1000 + index / 80,
      mem: 100 + (index % 13),
      cpu: index % 400
    }));
    const figure = visualize([
      plottable(origin => taskPlot(records, origin, 60)),
      plottable(origin => resourcePlot(samples, origin)),
      plottable(origin => cachePlot(held, 'bytes', origin, 60))
    ]);
    const html = figure.toHtml();
    expect(html.length).toBeLessThan(5e6);
    // Nothing of it is lost; the figure itself is what can be seen.
    expect(pictureIn(html).plots[0]!['keys']).toHaveLength(50_000);
    expect(JSON.stringify(figure).length).toBeLessThan(2e6);
  });

  it('is told apart from a half package', () => {
    // In a process of its own, from a folder without programs.
    const bundle = join(folder, 'alone.mjs');
    execFileSync(
      'node_modules/.bin/esbuild',
      [
        'src/node/program-files.ts',
        '--bundle',
        '--platform=node',
        '--format=esm',
        `--outfile=${bundle}`,
        '--log-level=error'
      ],
      { cwd: join(__dirname, '..', '..', '..', '..') }
    );
    const output = execFileSync(process.execPath, [
      '--input-type=module',
      '-e',
      `import { programFile } from ${JSON.stringify(pathToFileURL(bundle).href)};
       try { programFile('sampler.mjs'); } catch (error) { console.log(error.message); }`
    ]).toString();
    expect(output).toMatch(
      /^sampler\.mjs, a part of the package spanwise, is missing beside or above .*\. If a bundler made this program, leave spanwise out of the bundle \(external\); else reinstall the package/
    );
  });
});
