/*
 * chain.h - doubly linked lists of structs that have members `prev` and `next`. `first` is the
 * list's pointer to the newest one, which comes first.
 */
#ifndef BASE_CHAIN_H
#define BASE_CHAIN_H

#define chain_add(first, x)                                                                                            \
	do {                                                                                                           \
		(x)->prev = (void *)0;                                                                                 \
		(x)->next = (first);                                                                                   \
		if ((x)->next)                                                                                         \
			(x)->next->prev = (x);                                                                         \
		(first) = (x);                                                                                         \
	} while (0)

#define chain_remove(first, x)                                                                                         \
	do {                                                                                                           \
		if ((x)->next)                                                                                         \
			(x)->next->prev = (x)->prev;                                                                   \
		*((x)->prev ? &(x)->prev->next : &(first)) = (x)->next;                                                \
	} while (0)

#endif
