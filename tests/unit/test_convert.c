/*
 * test_convert.c - which system a configuration file is from. What becomes of its lines is recorded
 * in tests/golden/commands_alone.txt.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "convert/convert.h"

#define NOTHING CONVERT_KINDS

static void is_from(const char *text, enum convert_from expected)
{
	enum convert_from from = NOTHING;

	if (convert_guess(text, &from) != (expected != NOTHING) || from != expected)
		fail_msg("\"%s\" is taken for %s", text, from == NOTHING ? "nothing" : convert_name(from));
}

/* One line is enough, wherever it stands, in any case, and not in the middle of a line. */
static void one_line_is_enough(void **state)
{
	static const struct {
		const char *line;
		enum convert_from from;
	} lines[] = {
		{"Cluster - 'c'", CONVERT_SACCTMGR},
		{"Parent - 'root'", CONVERT_SACCTMGR},
		{"Account - 'a'", CONVERT_SACCTMGR},
		{"Name|Priority", CONVERT_SACCTMGR},
		{"set server scheduling = True", CONVERT_QMGR},
		{"create queue batch", CONVERT_QMGR},
		{"set queue batch enabled = True", CONVERT_QMGR},
		{"create node n1", CONVERT_QMGR},
		{"create resource r", CONVERT_QMGR},
		{"ClusterName=c", CONVERT_SLURM},
		{"NodeName=n1", CONVERT_SLURM},
		{"PartitionName=p", CONVERT_SLURM},
		{"SlurmctldHost=h", CONVERT_SLURM},
		{"ControlMachine=h", CONVERT_SLURM},
		{"SERVERHOST h", CONVERT_MAUI},
		{"RMCFG[0] TYPE=PBS", CONVERT_MAUI},
		{"RMPOLLINTERVAL 10", CONVERT_MAUI},
		{"BACKFILLPOLICY NONE", CONVERT_MAUI},
		{"ADMIN1 root", CONVERT_MAUI},
		{"USERCFG[a] MAXJOB=1", CONVERT_MAUI},
		{"GROUPCFG[a] MAXJOB=1", CONVERT_MAUI},
		{"CLASSCFG[a] MAXJOB=1", CONVERT_MAUI},
		{"QOSCFG[a] MAXJOB=1", CONVERT_MAUI},
		{"ACCOUNTCFG[a] MAXJOB=1", CONVERT_MAUI},
		{"SRCFG[a] PERIOD=DAY", CONVERT_MAUI},
		{"NODEALLOCATIONPOLICY FASTEST", CONVERT_MAUI},
		{"QUEUETIMEWEIGHT 1", CONVERT_MAUI},
		{"FSPOLICY NONE", CONVERT_MAUI},
	};
	char text[200], small[100];

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		is_from(lines[i].line, lines[i].from);
		snprintf(text, sizeof text, "# a file\n\n \t%s\nother = line\n", lines[i].line);
		is_from(text, lines[i].from);
		for (size_t k = 0; k <= strlen(lines[i].line); k++) {
			char c = lines[i].line[k];
			small[k] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
		}
		is_from(small, lines[i].from);
		snprintf(text, sizeof text, "# %s", lines[i].line);
		is_from(text, NOTHING);
	}
	is_from("", NOTHING);
	is_from("\n\nname = value", NOTHING);
}

/* A dump of accounts may be below slurm.conf, and qmgr's lines may name a queue as Maui's words. */
static void first_kind_counts(void **state)
{
	is_from("NodeName=n1\nParent - 'root'\n", CONVERT_SACCTMGR);
	is_from("ADMIN1 root\nset server scheduling = True\n", CONVERT_QMGR);
	is_from("SERVERHOST h\nClusterName=c\n", CONVERT_SLURM);
}

static void names_of_systems(void **state)
{
	static const char *const names[CONVERT_KINDS] = {"maui", "slurm", "sacctmgr", "qmgr"};

	for (int k = 0; k < CONVERT_KINDS; k++)
		assert_string_equal(convert_name((enum convert_from)k), names[k]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_line_is_enough),
		cmocka_unit_test(first_kind_counts),
		cmocka_unit_test(names_of_systems),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
