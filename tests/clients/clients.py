"""
What tests with real clients share: the instance of the scenarios, and skipping what is not installed here.
"""
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenario"))
import lib
from lib import *

HERE = os.path.dirname(os.path.abspath(__file__))


def job(i, resources, script, limit=60):
	"""Runs a script as a job; (exit status, standard output, standard error)."""
	id = i.sub("-N", "t", "-l", resources, "-v", "ASAN_OPTIONS", script=script)
	j = i.wait(id, limit=limit)
	number = id.split(".")[0]
	# mpirun says so when the program that it started was faster than itself; it means nothing.
	err = re.sub(r"^.*plm:rsh: Warning: setpgid.*\n", "", i.read("t.e" + number), flags=re.M)
	return j["exit_status"], i.read("t.o" + number), err


def lines(text):
	return sorted(text.splitlines())
