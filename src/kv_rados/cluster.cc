#include "kv_rados/cluster.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/executor.h"
#include "base/log.h"

namespace stator::kv_rados {
namespace {

// Without LIBRADOS_OPERATION_FULL_TRY a write to a full pool waits (until it times out: WhyFull).
// With it the OSDs would take it: they count the bytes of objects, not of keys and values.
constexpr int kWriteFlags = 0;

Error Unavailable(std::string message) {
  return Error(ErrorCode::kUnavailable, std::move(message));
}

struct Pending {
  const RadosApi* api;
  UniqueFunction<void(int)> done;
};

thread_local Cluster::OfThread of_thread;

void Complete(rados_completion_t completion, void* argument) {
  const std::unique_ptr<Pending> pending(static_cast<Pending*>(argument));
  const int result = pending->api->aio_get_return_value(completion);
  of_thread.in_callback = true;
  {
    const WakeUps at_once(WakeUps::Way::kStandIn);
    pending->done(result);
  }
  of_thread.in_callback = false;
}

}  // namespace

// ---- operations ---------------------------------------------------------------------------------

void WriteOp::CreateExclusively() { api_.write_op_create(op_, LIBRADOS_CREATE_EXCLUSIVE, nullptr); }

void WriteOp::Create() { api_.write_op_create(op_, LIBRADOS_CREATE_IDEMPOTENT, nullptr); }

void WriteOp::GuardAttribute(const char* name, std::string_view value) {
  api_.write_op_cmpxattr(op_, name, LIBRADOS_CMPXATTR_OP_EQ, value.data(), value.size());
}

void WriteOp::Compare(std::string_view key, uint8_t how, std::string_view value) {
  api_.write_op_omap_cmp2(op_, key.data(), how, value.data(), key.size(), value.size(), nullptr);
}

void WriteOp::GuardAbsent(std::string_view key) { Compare(key, LIBRADOS_CMPXATTR_OP_EQ, ""); }

void WriteOp::GuardEqual(std::string_view key, std::string_view value) {
  Compare(key, LIBRADOS_CMPXATTR_OP_EQ, value);
}

void WriteOp::GuardBetween(std::string_view key, std::string_view above, std::string_view below) {
  Compare(key, LIBRADOS_CMPXATTR_OP_GT, above);
  Compare(key, LIBRADOS_CMPXATTR_OP_LT, below);
}

void WriteOp::SetAttribute(const char* name, std::string_view value) {
  api_.write_op_setxattr(op_, name, value.data(), value.size());
}

namespace {

struct Pointers {
  explicit Pointers(std::span<const std::string> texts) {
    data.reserve(texts.size());
    sizes.reserve(texts.size());
    for (const std::string& text : texts) {
      data.push_back(text.data());
      sizes.push_back(text.size());
    }
  }
  std::vector<const char*> data;
  std::vector<size_t> sizes;
};

}  // namespace

void WriteOp::Set(std::span<const std::string> keys, std::span<const std::string> values) {
  const Pointers k(keys), v(values);
  api_.write_op_omap_set2(op_, k.data.data(), v.data.data(), k.sizes.data(), v.sizes.data(),
                          keys.size());
}

void WriteOp::Remove(std::span<const std::string> keys) {
  const Pointers k(keys);
  api_.write_op_omap_rm_keys2(op_, k.data.data(), k.sizes.data(), keys.size());
}

void WriteOp::RemoveRange(std::string_view begin, std::string_view end) {
  api_.write_op_omap_rm_range2(op_, begin.data(), begin.size(), end.data(), end.size());
}

ReadOp::~ReadOp() {
  for (const Part& part : parts_) api_.omap_get_end(part.iterator);
  if (attributes_ != nullptr) api_.getxattrs_end(attributes_);
  api_.release_read_op(op_);
}

void ReadOp::GuardAttribute(const char* name, std::string_view value) {
  api_.read_op_cmpxattr(op_, name, LIBRADOS_CMPXATTR_OP_EQ, value.data(), value.size());
}

void ReadOp::GuardAttributeIsNot(const char* name, std::string_view value) {
  api_.read_op_cmpxattr(op_, name, LIBRADOS_CMPXATTR_OP_NE, value.data(), value.size());
}

void ReadOp::Attributes() {
  if (std::exchange(wants_attributes_, true)) return;
  api_.read_op_getxattrs(op_, &attributes_, &attributes_status_);
}

size_t ReadOp::Keys(std::span<const std::string> keys) {
  const Pointers k(keys);
  Part& part = parts_.emplace_back();
  api_.read_op_omap_get_vals_by_keys2(op_, k.data.data(), keys.size(), k.sizes.data(),
                                      &part.iterator, &part.status);
  return parts_.size() - 1;
}

size_t ReadOp::Range(const std::string& start_after, const std::string& prefix, size_t limit) {
  Part& part = parts_.emplace_back();
  api_.read_op_omap_get_vals2(op_, start_after.c_str(), prefix.c_str(), limit, &part.iterator,
                              &part.more, &part.status);
  return parts_.size() - 1;
}

size_t ReadOp::Cells(const std::string& start_after, size_t limit) {
  Part& part = parts_.emplace_back();
  api_.read_op_omap_get_keys2(op_, start_after.c_str(), limit, &part.iterator, &part.more,
                              &part.status);
  return parts_.size() - 1;
}

std::string ReadOp::attribute(const char* name) {
  if (!taken_attributes_) {
    taken_attributes_.emplace();
    if (attributes_ == nullptr) return {};  // the operation was refused without them
    const char* key = nullptr;
    const char* value = nullptr;
    size_t length = 0;
    while (api_.getxattrs_next(attributes_, &key, &value, &length) == 0 && key != nullptr) {
      taken_attributes_->emplace(key, std::string(value, length));
    }
  }
  const auto found = taken_attributes_->find(name);
  return found == taken_attributes_->end() ? std::string() : found->second;
}

void ReadOp::ForEach(size_t part, FunctionRef<bool(std::string_view, std::string_view)> visit) {
  char* key = nullptr;
  char* value = nullptr;
  size_t key_length = 0, value_length = 0;
  while (api_.omap_get_next2(parts_[part].iterator, &key, &value, &key_length, &value_length) ==
             0 &&
         key != nullptr) {
    if (!visit({key, key_length}, {value, value_length})) return;
  }
}

// ---- the connection -----------------------------------------------------------------------------

Result<std::unique_ptr<Cluster>> Cluster::Connect(const RadosOptions& options) {
  ASSIGN_OR_RETURN(const RadosApi* api, LoadRados());
  return Connect(options, {.api = *api});
}

Result<std::unique_ptr<Cluster>> Cluster::Connect(const RadosOptions& options,
                                                  const Surroundings& surroundings) {
  std::unique_ptr<Cluster> cluster(new Cluster(surroundings, options));
  TRY(cluster->Start());
  return cluster;
}

Status Cluster::Start() {
  const std::string user = "client." + options_.user;
  const auto failed = [](int result) { return std::strerror(-result); };
  if (int result = api_.create2(&cluster_, "ceph", user.c_str(), 0); result < 0) {
    cluster_ = nullptr;
    return Unavailable(fmt::format("Ceph's client cannot be set up: {}.", failed(result)));
  }
  if (int result = api_.conf_read_file(cluster_, options_.ceph_conf.c_str()); result < 0) {
    return Unavailable(fmt::format("The Ceph configuration {} cannot be read: {}.",
                                   options_.ceph_conf, failed(result)));
  }
  // Without timeouts an operation waits for ever; and a client that was disconnected for long tries
  // to connect only every 15 s.
  const std::pair<const char*, std::string> settings[] = {
      {"rados_osd_op_timeout", std::to_string(options_.operation_timeout_seconds)},
      {"rados_mon_op_timeout", std::to_string(options_.operation_timeout_seconds)},
      {"client_mount_timeout", std::to_string(options_.connect_timeout_seconds)},
      {"ms_max_backoff", "2"},
      // Beyond these limits librados blocks the sending thread, which must not happen to ours.
      {"objecter_inflight_ops", "1000000"},
      {"objecter_inflight_op_bytes", "10737418240"},
      {"log_to_stderr", "false"},
      {"err_to_stderr", "false"},
  };
  for (const auto& [name, value] : settings) {
    if (int result = api_.conf_set(cluster_, name, value.c_str()); result < 0) {
      return Unavailable(fmt::format("Ceph's client does not take the setting {} = {}: {}.", name,
                                     value, failed(result)));
    }
  }

  switch (int result = api_.connect(cluster_); result) {
    case 0: break;
    case -ETIMEDOUT:
      return Unavailable(fmt::format("No monitor of the Ceph cluster of {} answered within {} s.",
                                     options_.ceph_conf, options_.connect_timeout_seconds));
    case -EACCES:
    case -EPERM:
    case -ENOENT:
      return Unavailable(
          fmt::format("The Ceph cluster refuses the user {}: the keyring that {} names has no key "
                      "of it, or another than "
                      "the cluster, or the user lacks the cap mon 'allow r'. `ceph auth get {}` "
                      "prints the right key, and the "
                      "caps.",
                      user, options_.ceph_conf, user));
    default:
      return Unavailable(fmt::format("The Ceph cluster of {} cannot be reached: {}.",
                                     options_.ceph_conf, failed(result)));
  }
  // "secure" encrypts (docs/cluster.md).
  char wire[64] = "";
  if (api_.conf_get(cluster_, "ms_client_mode", wire, sizeof wire) == 0)
    LogInfo("ceph_wire", {{"ms_client_mode", std::string(wire)}});
  switch (int result = api_.ioctx_create(cluster_, options_.pool.c_str(), &pool_); result) {
    case 0: break;
    case -ENOENT:
      pool_ = nullptr;
      return Unavailable(
          fmt::format("The Ceph cluster of {} has no pool \"{}\". Check the name, or create the "
                      "pool with: ceph "
                      "osd pool create {} && ceph osd pool application enable {} stator",
                      options_.ceph_conf, options_.pool, options_.pool, options_.pool));
    default:
      pool_ = nullptr;
      return Unavailable(
          fmt::format("The pool \"{}\" cannot be opened: {}.", options_.pool, failed(result)));
  }
  api_.ioctx_set_namespace(pool_, options_.name_space.c_str());
  return OkStatus();
}

Cluster::~Cluster() {
  if (pool_ != nullptr) api_.ioctx_destroy(pool_);
  if (cluster_ != nullptr) api_.shutdown(cluster_);
}

bool Cluster::InCallback() { return of_thread.in_callback; }

Cluster::OfThread& Cluster::ThisThread() { return of_thread; }

void Cluster::Sleep(int64_t micros) const {
  if (host_ != nullptr) return host_->Wait(&micros, micros);
  std::this_thread::sleep_for(std::chrono::microseconds(micros));
}

int Cluster::Write(const std::string& object, const WriteOp& op) {
  if (of_thread.in_callback) return -EDEADLK;
  return api_.write_op_operate(op.get(), pool_, object.c_str(), nullptr, kWriteFlags);
}

int Cluster::WriteAgain(const std::string& object, FunctionRef<void(WriteOp&)> fill) {
  const int64_t started = clock().TicksMicros();
  while (true) {
    WriteOp op(api_);
    fill(op);
    const int result = Write(object, op);
    if (result != -ETIMEDOUT || PastDeadline(started)) return result;
  }
}

Cluster::Since::Since(int64_t ticks) : outer_(std::exchange(of_thread.since, ticks)) {}
Cluster::Since::~Since() { of_thread.since = outer_; }

int Cluster::Read(const std::string& object, FunctionRef<void(ReadOp&)> fill,
                  std::unique_ptr<ReadOp>* read) {
  const int64_t started = of_thread.since.value_or(clock().TicksMicros());
  if (of_thread.in_callback) return -EDEADLK;
  if (of_thread.since && PastDeadline(started)) return -ETIMEDOUT;
  while (true) {
    *read = std::make_unique<ReadOp>(api_);
    fill(**read);
    const int result = api_.read_op_operate((*read)->get(), pool_, object.c_str(), 0);
    if (result != -ETIMEDOUT || PastDeadline(started)) return result;
  }
}

void Cluster::Submit(UniqueFunction<void(int)> done, FunctionRef<int(rados_completion_t)> submit) {
  auto pending = std::make_unique<Pending>(Pending{&api_, std::move(done)});
  rados_completion_t completion = nullptr;
  api_.aio_create_completion2(pending.get(), &Complete, &completion);
  if (const int result = submit(completion); result < 0) {
    pending->done(result);  // refused at once: the callback never runs
  } else {
    (void)pending.release();  // Complete's
  }
  api_.aio_release(completion);
}

void Cluster::WriteLater(const std::string& object, const WriteOp& op,
                         UniqueFunction<void(int)> done) {
  Submit(std::move(done), [&](rados_completion_t completion) {
    return api_.aio_write_op_operate(op.get(), pool_, completion, object.c_str(), nullptr,
                                     kWriteFlags);
  });
}

void Cluster::ReadLater(const std::string& object, const ReadOp& op,
                        UniqueFunction<void(int)> done) {
  Submit(std::move(done), [&](rados_completion_t completion) {
    return api_.aio_read_op_operate(op.get(), pool_, completion, object.c_str(), 0);
  });
}

// ---- watches ------------------------------------------------------------------------------------

void Cluster::WatchLater(const std::string& object, Watcher* watcher, int seconds, uint64_t* watch,
                         UniqueFunction<void(int)> done) {
  const auto on_message = [](void* to, uint64_t notification, uint64_t handle, uint64_t, void* data,
                             size_t length) {
    static_cast<Watcher*>(to)->OnMessage(notification, handle,
                                         {static_cast<const char*>(data), length});
  };
  const auto on_lost = [](void* to, uint64_t handle, int result) {
    static_cast<Watcher*>(to)->OnLost(handle, result);
  };
  Submit(std::move(done), [&](rados_completion_t completion) {
    return api_.aio_watch2(pool_, object.c_str(), completion, watch, on_message, on_lost,
                           static_cast<uint32_t>(seconds), watcher);
  });
}

void Cluster::UnwatchLater(uint64_t watch, UniqueFunction<void(int)> done) {
  Submit(std::move(done),
         [&](rados_completion_t completion) { return api_.aio_unwatch(pool_, watch, completion); });
}

void Cluster::NotifyLater(const std::string& object, std::string_view message, int seconds,
                          UniqueFunction<void(int)> done) {
  Submit(std::move(done), [&](rados_completion_t completion) {
    return api_.aio_notify(pool_, object.c_str(), completion, message.data(),
                           static_cast<int>(message.size()), static_cast<uint64_t>(seconds) * 1000,
                           nullptr, nullptr);
  });
}

void Cluster::Acknowledge(const std::string& object, uint64_t notification, uint64_t watch) {
  api_.notify_ack(pool_, object.c_str(), notification, watch, nullptr, 0);
}

// ---- errors -------------------------------------------------------------------------------------

std::optional<std::string> Cluster::DescribePool() {
  const char* command = R"({"prefix": "osd dump", "format": "plain"})";
  char* output = nullptr;
  char* status = nullptr;
  size_t length = 0, status_length = 0;
  const int result =
      api_.mon_command(cluster_, &command, 1, "", 0, &output, &length, &status, &status_length);
  const std::string dump(output == nullptr ? "" : output, length);
  if (output != nullptr) api_.buffer_free(output);
  if (status != nullptr) api_.buffer_free(status);
  if (result < 0) return std::nullopt;
  // The line of a pool:  pool 1 'NAME' replicated size 3 ... flags hashpspool,full,full_quota
  // stripe_width 0 ...
  const std::string quoted = " '" + options_.pool + "' ";
  const size_t name = dump.find(quoted);
  if (name == std::string::npos) return std::nullopt;
  const size_t begin = name + quoted.size();
  return dump.substr(begin, dump.find('\n', begin) - begin);
}

bool Cluster::IsErasureCoded() {
  const std::optional<std::string> pool = DescribePool();
  return pool && pool->starts_with("erasure ");
}

std::optional<Error> Cluster::WhyFull() {
  const std::optional<std::string> pool = DescribePool();
  if (!pool) return std::nullopt;
  constexpr std::string_view kFlags = " flags ";
  const size_t start = pool->find(kFlags);
  if (start == std::string::npos) return std::nullopt;
  const size_t first = start + kFlags.size();
  const std::string flags = "," + pool->substr(first, pool->find(' ', first) - first) + ",";
  const bool quota = flags.find(",full_quota,") != std::string::npos;
  if (!quota && flags.find(",full,") == std::string::npos) return std::nullopt;
  return Unavailable(fmt::format(
      "The pool \"{}\" is full: {}. Writes are taken again when that has changed.", options_.pool,
      quota ? "its quota is reached; raise it or delete data"
            : "the cluster has no space left for it; add OSDs or delete data"));
}

bool Cluster::PoolIsGone() const {
  char name[256];
  return api_.pool_reverse_lookup(cluster_, api_.ioctx_get_id(pool_), name, sizeof name) == -ENOENT;
}

Error Cluster::ErrorOf(int result, const std::string& object, bool write) const {
  const std::string& pool = options_.pool;
  switch (result) {
    case -ETIMEDOUT:
      if (write) {
        return Error(ErrorCode::kOutcomeUnknown,
                     fmt::format("The Ceph cluster did not answer in time. A write to {} may or "
                                 "may not have been applied.",
                                 object));
      }
      return Unavailable("The Ceph cluster did not answer in time.");
    case -EPERM:
    case -EACCES:
      return Unavailable(
          fmt::format("The Ceph user client.{0} may not {2} the pool \"{1}\". It needs the caps "
                      "mon 'allow r' and osd 'allow {3} pool={1}', beside "
                      "those that it has: `ceph auth get client.{0}` prints them, and `ceph auth "
                      "caps client.{0}` sets all of them anew.",
                      options_.user, pool, write ? "write to" : "read from",
                      options_.look_only ? "rx" : "rwx"));
    case -EOPNOTSUPP:
      return Unavailable(
          fmt::format("The pool \"{}\" is erasure-coded, and such pools do not store keys and "
                      "values. Stator needs a replicated pool.",
                      pool));
    case -ENOENT:
      if (PoolIsGone()) {
        return Unavailable(
            fmt::format("The pool \"{}\" was deleted while this process used it. Bring the pool "
                        "back from a backup and restart the server.",
                        pool));
      }
      return CorruptionError(
          fmt::format("The object {} of the pool \"{}\" is missing. It was not removed by Stator; "
                      "bring it back from a backup.",
                      object, pool));
    case -ESHUTDOWN:
      return Unavailable(
          "The Ceph cluster has shut this process out (it is on the blocklist). Restart the "
          "server.");
    default:
      return Unavailable(fmt::format("An operation on the object {} of the pool \"{}\" failed: {}.",
                                     object, pool, std::strerror(-result)));
  }
}

}  // namespace stator::kv_rados
