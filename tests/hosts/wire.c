/*
 * wire.c - a bad wire: frames between a network device and a tap device, late or lost.
 *
 * usage: wire DEVICE TAP DELAY_MS LOSS_PERCENT
 *        wire --plain DEVICE      checksums are made by the CPU: a copied frame must have one
 *
 * By hand, since this must work on kernels without netem. The tap is made, and gone with the
 * process; who calls puts it into a bridge in the device's stead once "up" was printed. Both ways
 * have the same delay and loss; order is kept.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FRAME 2048
#define WAITING 8192 /* more are lost, as in a full queue */

struct frame {
	int64_t due;
	int to;
	size_t n;
	char data[FRAME];
};

static struct frame queue[WAITING];
static size_t first, count;

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

static int die(const char *what)
{
	perror(what);
	exit(1);
}

static int device_open(const char *name)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ALL));
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};

	at.sll_ifindex = (int)if_nametoindex(name);
	if (fd < 0 || at.sll_ifindex == 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0)
		die(name);
	setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &(int){1}, sizeof(int)); /* what we put there ourselves */
	return fd;
}

static int tap_open(const char *name)
{
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	struct ifreq r = {.ifr_flags = IFF_TAP | IFF_NO_PI};

	strncpy(r.ifr_name, name, IFNAMSIZ - 1);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &r) < 0)
		die(name);
	return fd;
}

static int device_plain(const char *name)
{
	struct ethtool_value v = {.cmd = ETHTOOL_STXCSUM, .data = 0};
	struct ifreq r = {.ifr_data = (char *)&v};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strncpy(r.ifr_name, name, IFNAMSIZ - 1);
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &r) < 0)
		die(name);
	return 0;
}

static void take(int from, int to, int64_t delay, int loss)
{
	struct frame *f;
	ssize_t n;
	char spare[FRAME];

	for (;;) {
		f = count < WAITING ? &queue[(first + count) % WAITING] : NULL;
		n = read(from, f ? f->data : spare, FRAME);
		if (n <= 0)
			return;
		if (!f || rand() % 100 < loss)
			continue;
		f->due = now_us() + delay;
		f->to = to;
		f->n = (size_t)n;
		count++;
	}
}

static void give(void)
{
	for (; count && queue[first].due <= now_us(); count--) {
		if (write(queue[first].to, queue[first].data, queue[first].n) < 0 && errno == EBADF)
			die("write");
		first = (first + 1) % WAITING;
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--plain") == 0)
		return device_plain(argv[2]);
	if (argc != 5) {
		fprintf(stderr, "usage: wire DEVICE TAP DELAY_MS LOSS_PERCENT\n");
		return 2;
	}

	int64_t delay = atoll(argv[3]) * 1000;
	int loss = atoi(argv[4]);
	struct pollfd p[2] = {{.fd = device_open(argv[1]), .events = POLLIN},
			      {.fd = tap_open(argv[2]), .events = POLLIN}};

	srand(1);
	puts("up");
	fflush(stdout);
	for (;;) {
		int64_t wait = count ? (queue[first].due - now_us() + 999) / 1000 : -1;
		if (poll(p, 2, wait < -1 ? 0 : (int)wait) < 0 && errno != EINTR)
			die("poll");
		take(p[0].fd, p[1].fd, delay, loss);
		take(p[1].fd, p[0].fd, delay, loss);
		give();
	}
}
