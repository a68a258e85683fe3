#!/usr/bin/env python3
"""A program that saves its work: it counts, a step at a time, and continues where it was when it is run again.

    qsub -c enabled count.py
"""
import os
import signal
import sys
import time

asked = final = False


def on_signal(number, frame):
    """Only takes a note: what is saved must be consistent, so it is saved between two steps."""
    global asked, final
    asked = True
    final = final or number == signal.SIGUSR2


def save(n):
    """`done` comes last: without it nothing of this counts."""
    new = os.path.join(os.environ["SHUNT_CHECKPOINT_DIR"], "new")
    try:
        with open(os.path.join(new, "state"), "w") as f:
            f.write("%d\n" % n)
        open(os.path.join(new, "done"), "x").close()
    except OSError as e:  # it continues without; a final one is tried until the time is over
        print("not saved: %s" % e, file=sys.stderr)
        return False
    return True


most = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 100
n = 0
if "SHUNT_RESTART" in os.environ:
    with open(os.path.join(os.environ["SHUNT_RESTART"], "state")) as f:
        n = int(f.read())
signal.signal(signal.SIGUSR1, on_signal)
signal.signal(signal.SIGUSR2, on_signal)
while n < most:
    n += 1
    time.sleep(0.01)  # the work
    if asked:
        asked = final  # the last one is tried again
        if save(n) and final:
            sys.exit(0)
print("counted to %d" % n)
