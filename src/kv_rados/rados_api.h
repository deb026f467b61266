// The functions of librados, found at run time: a server on RocksDB neither needs Ceph's libraries
// on its machine nor pays for loading them. Internal to the room.
#pragma once

#include <rados/librados.h>

#include "base/result.h"

namespace stator::kv_rados {

// clang-format off
#define STATOR_RADOS_FUNCTIONS(F) \
  F(create2) F(shutdown) F(conf_read_file) F(conf_set) F(conf_get) F(connect) \
  F(ioctx_create) F(ioctx_destroy) F(ioctx_set_namespace) F(ioctx_get_id) F(pool_reverse_lookup) \
  F(create_write_op) F(release_write_op) F(write_op_create) F(write_op_cmpxattr) \
  F(write_op_setxattr) F(write_op_omap_cmp2) F(write_op_omap_set2) F(write_op_omap_rm_keys2) \
  F(write_op_omap_rm_range2) F(create_read_op) F(release_read_op) F(read_op_cmpxattr) \
  F(read_op_getxattrs) F(read_op_omap_get_vals2) F(read_op_omap_get_keys2) \
  F(read_op_omap_get_vals_by_keys2) F(getxattrs_next) F(getxattrs_end) F(omap_get_next2) \
  F(omap_iter_size) F(omap_get_end) F(write_op_operate) F(read_op_operate) \
  F(aio_write_op_operate) F(aio_read_op_operate) F(aio_watch2) F(aio_unwatch) F(aio_notify) \
  F(notify_ack) F(watch_flush) F(aio_create_completion2) F(aio_release) F(aio_get_return_value) \
  F(mon_command) F(buffer_free)
// clang-format on

// Members are named like the functions without their `rados_`.
struct RadosApi {
#define STATOR_RADOS_MEMBER(name) decltype(&::rados_##name) name = nullptr;
  STATOR_RADOS_FUNCTIONS(STATOR_RADOS_MEMBER)
#undef STATOR_RADOS_MEMBER
};

// Loads librados on the first call. The functions stay for the life of the process. kUnavailable,
// with a sentence on what to install, if the library is missing or too old. Thread-safe.
Result<const RadosApi*> LoadRados();

}  // namespace stator::kv_rados
