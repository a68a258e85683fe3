#!/usr/bin/env python3
"""
A file system (FUSE) with one file, `out`, that can be opened, and then never answers: what a hostile user mounts.
usage: tests/hosts/trap.py DIRECTORY UID      mounts it there as that user would, prints "up", serves until it is killed
"""
import ctypes
import os
import struct
import sys

INIT, LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, BATCH_FORGET, OPENDIR = 26, 1, 2, 3, 4, 14, 15, 16, 17, 42, 27
where, uid = sys.argv[1], int(sys.argv[2])
fd = os.open("/dev/fuse", os.O_RDWR)
options = "fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other" % (fd, uid, uid)
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"trap", where.encode(), b"fuse", 6, options.encode()) != 0: # nosuid, nodev
    sys.exit("mount: " + os.strerror(ctypes.get_errno()))
print("up", flush=True)


def attributes(node):
    mode = 0o40700 if node == 1 else 0o100600
    return struct.pack("<6Q10I", node, 0, 0, 0, 0, 0, 0, 0, 0, mode, 1, uid, uid, 0, 4096, 0)


while True:
    try:
        request = os.read(fd, 1 << 18)
    except OSError: # it was unmounted
        break
    _, what, unique, node = struct.unpack_from("<IIQQ", request)
    answer, error = b"", 0
    if what in (FORGET, BATCH_FORGET, READ, WRITE):
        continue
    if what == INIT:
        answer = struct.pack("<IIIIHHIIHHI7I", 7, 31, 0, 0, 8, 8, 65536, 1, 0, 0, 0, *[0] * 7)
    elif what == LOOKUP:
        if request[40:].rstrip(b"\0") == b"out":
            answer = struct.pack("<QQQQII", 2, 0, 60, 60, 0, 0) + attributes(2)
        else:
            error = -2
    elif what in (GETATTR, SETATTR):
        answer = struct.pack("<QII", 60, 0, 0) + attributes(node)
    elif what in (OPEN, OPENDIR):
        answer = struct.pack("<QII", 1, 1, 0) # past the cache: each write asks us
    elif what == STATFS:
        answer = struct.pack("<5Q4I6I", 1000, 1000, 1000, 10, 10, 4096, 255, 4096, 0, *[0] * 6)
    try:
        os.write(fd, struct.pack("<IiQ", 16 + len(answer), error, unique) + answer)
    except OSError: # nobody waits for it any more
        pass
