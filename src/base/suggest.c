/*
 * suggest.c - finds the nearest word by the number of letters to add, drop, change, or swap with a
 * neighbour.
 */
#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 40

static int least(int a, int b)
{
	return a < b ? a : b;
}

static int distance(const char *a, int na, const char *b, int nb)
{
	int d[LONGEST + 1][LONGEST + 1];

	for (int i = 0; i <= na; i++)
		d[i][0] = i;
	for (int k = 0; k <= nb; k++)
		d[0][k] = k;
	for (int i = 1; i <= na; i++) {
		for (int k = 1; k <= nb; k++) {
			int change = d[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
			d[i][k] = least(change, least(d[i - 1][k], d[i][k - 1]) + 1);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
		}
	}
	return d[na][nb];
}

bool suggest_word(const char *word, const char *words, char ret[SUGGEST_SIZE])
{
	int n = (int)strlen(word), best = LONGEST;

	if (n < 2 || n > LONGEST)
		return false;
	for (const char *p = words; *p; p += strspn(p, " ")) {
		int m = (int)strcspn(p, " ");
		/* The beginning of a word is near to it, whatever the length of the rest. */
		int away = m > LONGEST						? LONGEST
			   : n > 1 && m > n && strncmp(p, word, (size_t)n) == 0 ? 1
										: distance(word, n, p, m);
		if (away < best) {
			best = away;
			snprintf(ret, SUGGEST_SIZE, "%.*s", m, p);
		}
		p += m;
	}
	return best <= (n < 3 ? 1 : 1 + n / 4);
}
