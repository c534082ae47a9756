/* What is on disk: the driver's plan files, kubelet's checkpoint, and standard input.
 *
 * Promise: only names that were checked become part of a path; one that does not pass names no file.
 */
#ifndef NETCLAIM_FILES_H
#define NETCLAIM_FILES_H

#include "bytes.h"

enum { NAME_LENGTH_MAX = 253 }; /* the longest name Kubernetes has; a file's may have 255 */

/* Letters, digits, '.', '_' and '-', and no dot in front: no path, and no hidden file. */
bool name_is_safe(struct span name);

/* Whether DIRECTORY/SORT/NAME exists. What cannot be looked at counts as absent: a pod that claims
 * nothing must not depend on it. An empty `sort` leaves that part out. */
bool is_noted(const char *directory, const char *sort, struct span name);

/* Everything that a descriptor gives, at most `max` bytes; false if it cannot be read (errno) or
 * has more (EFBIG). */
bool read_all(int fd, size_t max, struct buffer *content);
bool read_noted(const char *directory, const char *sort, struct span name, struct buffer *content);

enum use { NOT_IN_USE, IN_USE, USE_UNKNOWN };

/* Whether kubelet has written down that the pod uses one of these claims, UIDs one a line. Kubelet
 * does so before it asks for the pod's sandbox. With no claims at all: whether it uses any claim.
 *
 * The file (pkg/kubelet/cm/dra/state, the same from Kubernetes 1.32 to 1.36) is an object whose
 * member Data is a string that contains JSON itself: ClaimInfoStateList, a list of objects with
 * ClaimUID and PodUIDs, of which the latter has a member for each pod. Should a later kubelet write
 * it in another way, the pod's UID anywhere in it counts as use. */
enum use claim_in_use(const char *kubelet_state, struct span claims, struct span pod_uid);
/* The same, of the file's content; for tests. */
enum use claim_in_use_in(struct span checkpoint, struct span claims, struct span pod_uid);

#endif
