/*
 * test_palette.c - every color can be read on white and on black, and those of jobs can be told
 * apart.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmd/lib/palette.h"

/* Computes the relative luminance defined by WCAG 2. */
static double luminance(const uint8_t rgb[3])
{
	static const double share[] = {0.2126, 0.7152, 0.0722};
	double sum = 0;

	for (int i = 0; i < 3; i++) {
		double c = rgb[i] / 255.0;
		sum += share[i] * (c <= 0.03928 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
	}
	return sum;
}

static double contrast(double a, double b)
{
	return (fmax(a, b) + 0.05) / (fmin(a, b) + 0.05);
}

static double luminance_of(int color)
{
	uint8_t rgb[3];

	palette_rgb(color, rgb);
	return luminance(rgb);
}

/* No color can have more than 4.58 on both. */
static void test_text(void **state)
{
	static const int colors[] = {PALETTE_RUNNING, PALETTE_HELD, PALETTE_TROUBLE};

	(void)state;
	for (size_t i = 0; i < sizeof colors / sizeof *colors; i++) {
		assert_true(contrast(luminance_of(colors[i]), 1) >= 4);
		assert_true(contrast(luminance_of(colors[i]), 0) >= 4);
	}
}

static void test_jobs(void **state)
{
	(void)state;
	for (int i = 0; i < PALETTE_JOBS; i++) {
		assert_true(contrast(luminance_of(palette_job[i]), 0) >=
			    4.5);					     /* black text on it, and a dark terminal */
		assert_true(contrast(luminance_of(palette_job[i]), 1) >= 2); /* it stands out on a light one */
		for (int k = 0; k < i; k++) {
			uint8_t a[3], b[3];
			int far = 0;
			palette_rgb(palette_job[i], a);
			palette_rgb(palette_job[k], b);
			for (int c = 0; c < 3; c++)
				far += abs(a[c] - b[c]);
			assert_true(far >= 80);
		}
	}
}

static void test_rgb(void **state)
{
	uint8_t rgb[3];

	(void)state;
	palette_rgb(28, rgb);
	assert_true(rgb[0] == 0 && rgb[1] == 135 && rgb[2] == 0);
	palette_rgb(231, rgb);
	assert_true(rgb[0] == 255 && rgb[1] == 255 && rgb[2] == 255);
	palette_rgb(232, rgb);
	assert_true(rgb[0] == 8 && rgb[2] == 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_jobs),
		cmocka_unit_test(test_rgb),
	};

	return cmocka_run_group_tests_name("palette", tests, NULL, NULL);
}
