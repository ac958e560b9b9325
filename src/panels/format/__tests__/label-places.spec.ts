/** Labels of peaks cover no line, no other label and no other leader, whatever the lines are. */
import { SeededRandom } from '../../../base/seeded-random';
import { labelPlaces, type Place, type WantedLabel } from '../label-places';

type Lines = readonly (readonly (Place | null)[])[];
type Area = { readonly width: number; readonly height: number };

/** Up to four lines of up to 40 samples with some gaps; each has its peak at one of them. */
function randomLines(random: SeededRandom, { width, height }: Area) {
  const lines: Lines = Array.from(
    { length: 1 + Math.floor(4 * random.next()) },
    () => {
      const count = 2 + Math.floor(38 * random.next());
      const end = width * (0.2 + 0.8 * random.next());
      const highest = height * 0.8 * random.next();
      const ground = random.next();
      return Array.from({ length: count }, (_, index) =>
        index > 0 && random.next() < 0.1
          ? null
          : ([
              (end * index) / (count - 1),
              highest * (ground + (1 - ground) * random.next())
            ] as const)
      );
    }
  );
  return { lines, wanted: wantedOf(lines) };
}

function wantedOf(lines: Lines): WantedLabel[] {
  return lines
    .map((points, line) => {
      const peak = points.reduce((most, point) =>
        point !== null && point[1] > most![1] ? point : most
      )!;
      const name = 'abcdefghijklm'.slice(0, 3 + 3 * line);
      return {
        peak,
        line,
        texts: [
          `${name}: peak 123 MiB at +1.0 s`,
          `${name}: 123 MiB`,
          '123 MiB'
        ].map((text, place) => ({
          text,
          pixels: 6.5 * text.length,
          mayReach: place > 0
        }))
      };
    })
    .sort((one, other) => other.peak[1] - one.peak[1]);
}

/** Of those that are placed. */
function placedOf(lines: Lines, wanted: readonly WantedLabel[], area: Area) {
  return labelPlaces(wanted, lines, { ...area, above: 10 }).flatMap(
    (place, index) => {
      if (place === null) {
        return [];
      }
      const { peak, line, texts } = wanted[index]!;
      const { pixels } = texts.find(({ text }) => text === place.text)!;
      const edge = peak[0] + place.across;
      const middle = peak[1] + place.up;
      return {
        line,
        peak,
        left: place.side === 'left' ? edge : edge - pixels,
        right: place.side === 'left' ? edge + pixels : edge,
        bottom: middle - 9.5,
        top: middle + 9.5,
        end: [edge, middle] as Place
      };
    }
  );
}
type Box = ReturnType<typeof placedOf>[number];

const isIn = (box: Box, [x, y]: Place) =>
  x > box.left && x < box.right && y > box.bottom && y < box.top;
/** Points of the way from one to the other, half a pixel apart; not where it begins. */
function way([ax, ay]: Place, [bx, by]: Place): Place[] {
  const steps = Math.ceil(2 * Math.hypot(bx - ax, by - ay));
  return Array.from({ length: steps }, (_, step) => {
    const share = (step + 1) / (steps + 1);
    return [ax + share * (bx - ax), ay + share * (by - ay)];
  });
}
/** Of each line and of its samples. */
const inkOf = (points: Lines[number]): Place[] =>
  points.flatMap((point, index) => {
    const next = points[index + 1] ?? null;
    return point === null
      ? []
      : next === null
        ? [point]
        : [point, ...way(point, next)];
  });

it.each([
  [345, 60],
  [300, 96],
  [824, 184],
  [420, 400]
])('covers nothing in a chart of %i × %i pixels', (width, height) => {
  const area = { width, height };
  const random = new SeededRandom(width + height);
  let placed = 0;
  let all = 0;
  for (let round = 0; round < 60; round += 1) {
    const { lines, wanted } = randomLines(random, area);
    const boxes = placedOf(lines, wanted, area);
    const ink = lines.flatMap(inkOf);
    all += wanted.length;
    placed += boxes.length;
    for (const [index, box] of boxes.entries()) {
      expect(box.left).toBeGreaterThanOrEqual(-1e-6);
      expect(box.right).toBeLessThanOrEqual(width + 1e-6);
      expect(box.bottom).toBeGreaterThanOrEqual(0);
      expect(box.top).toBeLessThanOrEqual(height + 10);
      expect(ink.filter(point => isIn(box, point))).toEqual([]);
      for (const other of boxes.slice(0, index)) {
        const isBeside = box.left >= other.right || other.left >= box.right;
        // The higher line's stands above.
        expect(isBeside || box.top <= other.bottom).toBe(true);
      }
      for (const other of boxes.filter(each => each !== box)) {
        expect(
          way(box.peak, box.end).filter(point => isIn(other, point))
        ).toEqual([]);
      }
    }
  }
  // It is no answer to leave all out.
  expect(placed / all).toBeGreaterThan(height < 90 ? 0.25 : 0.5);
});

it('has the labels of a newcomer’s three runs in the order of their lines', () => {
  // From zero, in the default layout: 345 × 60 pixels.
  const lines: Lines = [
    [
      [0, 9],
      [77, 11],
      [190, 25],
      [257, 24]
    ],
    [
      [0, 30],
      [15, 18],
      [85, 36],
      [150, 33]
    ],
    [
      [0, 40],
      [15, 20],
      [60, 36],
      [180, 45],
      [236, 53],
      [318, 53]
    ]
  ];
  const boxes = placedOf(lines, wantedOf(lines), { width: 345, height: 60 });
  expect(boxes.length).toBeGreaterThan(0);
  expect(boxes[0]!.line).toBe(2);
});

it('has room at once for two runs that end apart', () => {
  const lines: Lines = [
    [
      [0, 10],
      [200, 40],
      [300, 20]
    ],
    [
      [0, 10],
      [300, 120],
      [500, 60]
    ]
  ];
  const area = { width: 600, height: 180 };
  expect(
    placedOf(lines, wantedOf(lines), area).map(({ line }) => line)
  ).toEqual([1, 0]);
});

it('names no peak that is not in sight', () => {
  const lines: Lines = [
    [
      [-50, 90],
      [200, 40]
    ]
  ];
  expect(placedOf(lines, wantedOf(lines), { width: 600, height: 180 })).toEqual(
    []
  );
});
