"""A command on a pseudo terminal, as a user sees it."""
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

LIMIT = 60


class Terminal:
    def __init__(self, args, env, cwd="/", rows=33, columns=111, term="vt100"):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            self.fd = 0  # the size is there before the command is, and nobody changes it while that runs
            self.size(rows, columns)
            os.chdir(cwd)
            os.execvpe(args[0], args, dict(env, TERM=term))
        self.before = termios.tcgetattr(self.fd)

    def size(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def key(self, which, byte):
        """Another key for interrupting, erasing, ... (termios.VINTR)"""
        settings = termios.tcgetattr(self.fd)
        settings[6][which] = byte
        termios.tcsetattr(self.fd, termios.TCSANOW, settings)
        self.before = termios.tcgetattr(self.fd)

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self, pattern, limit=LIMIT):
        """Reads until the pattern is there; what came since the last such."""
        end = time.monotonic() + limit
        pattern = re.compile(pattern)
        m = pattern.search(self.text)
        while not m and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                begin = max(0, len(self.text) - 4096)  # what is before was searched
                try:
                    self.text += os.read(self.fd, 65536).decode("utf-8", "replace")
                except OSError:
                    break
                m = pattern.search(self.text, begin)
        got, self.text = (None, self.text) if not m else (self.text[:m.end()], self.text[m.end():])
        return got

    def end(self):
        """The exit code, and whether the terminal is as it was."""
        code, limit = None, time.monotonic() + LIMIT
        while code is None and time.monotonic() < limit:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
            else:
                self.read("\0never", 0.02)
                time.sleep(0.02)
        self.read("\0never", 5)  # what it wrote last; ends when nobody has the terminal open any more
        restored = termios.tcgetattr(self.fd) == self.before
        self.close(code is None)
        return code, restored

    def close(self, lives=True):
        """The terminal is gone, as when a window is closed."""
        os.close(self.fd)
        if lives:
            for _ in range(LIMIT * 20):
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    return
                time.sleep(0.05)
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
