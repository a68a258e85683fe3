/*
 * listing.h - what is in a directory, written as JSON into a file without a name: by a process that has become the user.
 */
#ifndef RUN_LISTING_H
#define RUN_LISTING_H

#define LISTING_MOST 5000 /* entries; of more, `more` is true */

/* {"entries": [{"name", "kind", "size", "modified"}], "more"}; kind: file, directory, link, other. Names that are not UTF-8 are left out. A
 * descriptor to read it from; or -errno. */
int listing_make(int directory);

#endif
