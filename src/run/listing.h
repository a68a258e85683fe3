/*
 * listing.h - lists a directory as JSON in a file without a name, from a process that has become
 * the user.
 */
#ifndef RUN_LISTING_H
#define RUN_LISTING_H

#define LISTING_MOST 5000 /* entries; `more` is true if there are more */

/* Writes {"entries": [{"name", "kind", "size", "modified"}], "more"}; kind: file, directory, link,
 * other. Leaves out names that are not UTF-8. Returns a descriptor to read it from, or -errno. */
int listing_make(int directory);

#endif
