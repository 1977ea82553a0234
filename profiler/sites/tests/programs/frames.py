"""Compares what is read of the interpreter with what it says itself. Arguments: the library."""

import ctypes
import sys
import threading

library = ctypes.CDLL(sys.argv[1])
library.inspect_start(b"libffi.so*:_ctypes.*.so:libinspect.so")
room = threading.local()
checks = 0


def expected(frame, depth):
    lines = []
    while frame and len(lines) < depth:
        code = frame.f_code
        lines.append("%s:%d %s\n" % (code.co_filename, frame.f_lineno, getattr(code, "co_qualname", code.co_name)))
        frame = frame.f_back
    return lines


def look(depth=64):
    global checks
    if not hasattr(room, "text"):
        room.text = ctypes.create_string_buffer(1 << 16)
    frame = sys._getframe()
    line = frame.f_lineno + 1
    site = library.inspect_stack(depth, room.text, 1 << 16)
    found = room.text.value.decode()
    frames = expected(frame, max(depth, 1))
    frames[0] = frames[0].replace(":%d " % (line + 2), ":%d " % line)
    if found != "".join(frames):
        sys.exit("depth %d\nfound\n%sexpected\n%s" % (depth, found, "".join(frames)))
    checks += 1
    return site


def nested(levels, depth):
    if levels:
        return nested(levels - 1, depth)
    return look(
        depth
    )


class Solver:
    def step(self):
        return look(3), (lambda: look(4))(), [look(5) for _ in range(2)]

    @staticmethod
    def generate():
        for _ in range(3):
            yield look(6)

    @property
    def größe(self):
        return look(7)


for _ in range(3):
    for levels in (0, 1, 5, 70):
        for depth in (0, 1, 2, 8, 64):
            nested(levels, depth)
    solver = Solver()
    solver.step()
    list(Solver.generate())
    solver.größe
    sorted([3, 1, 2], key=lambda value: look(4))
    with open(sys.argv[0]) as lines:
        max(lines, key=lambda line: look(2) * 0)

# Code that comes and goes, often to where other code was: names, files and lines are all that differ.
for at in range(200):
    file = "made-%d.py" % (at % 7) if at % 3 else "größe-%d-\U0001f40d.py" % (at % 5)
    exec(compile("\n" * (at % 11) + "look(2)\n", file, "exec"))
    exec(compile("\n" * (at % 5) + "def f%d(): return look(3)\nf%d()\n" % (at % 4, at % 4), "<string>", "exec"))

# The same call is the same site, another one is another.
sites = [nested(2, 8) for _ in range(4)]
other = nested(2, 8)
assert len(set(sites)) == 1 and sites[0] and other and other != sites[0], (sites, other)


def in_thread(at):
    for _ in range(20):
        nested(at % 6, 5)


threads = [threading.Thread(target=in_thread, args=(at,)) for at in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(checks)
