/**
 * The notebook that most tests run: a cluster of two workers, and work in nested spans that goes on until the test says that it is enough,
 * however slow the machine is. After each round it rests, five times as long as the round took: what it takes of the processors, panels that
 * draw it included, is as long as the test, and the test as slow as the machine.
 *
 *   Alice's workflow          pick   waits 50 ms
 *     harvest  → pick         press  works 10 ms
 *     cider
 *       1 litres → press
 *       2 litres → press
 */
export const CLUSTER = 'orchard';

/** In the notebook's folder, this file ends the work. */
export const ENOUGH = 'enough';

export const START = `import json, os, time
from spanwise import Client, MemorySampler, span

client = Client(n_workers=2, threads_per_worker=2, name="${CLUSTER}")
client`;

export const FUNCTIONS = `def pick(crate):
    time.sleep(0.05)
    return bytes(200_000)

def press(apples, litres):
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        sum(range(1000))
    return apples

def a_round():
    with span("Alice's workflow"):
        with span("harvest"):
            crates = client.map(pick, range(8), pure=False)
        for litres in (1, 2):
            with span("cider", f"{litres} litres"):
                client.gather(client.map(press, crates, [litres] * 8, pure=False))

def a_round_and_rest():
    begin = time.perf_counter()
    a_round()
    time.sleep(min(15, max(2, 5 * (time.perf_counter() - begin))))`;

export const WORK = `${FUNCTIONS}

while not os.path.exists("${ENOUGH}"):
    a_round_and_rest()`;
