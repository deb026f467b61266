// A connection to a pool, and operations on its objects. Internal to the room.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_function.h"
#include "kv_rados/host.h"
#include "kv_rados/limits.h"
#include "kv_rados/rados_api.h"
#include "kv_rados/rados_engine.h"
#include "kv_rados/store_format.h"

namespace stator::kv_rados {

// One write operation on one object: all of it or nothing. Guards see the object as it was before.
// Arguments are copied.
class WriteOp {
 public:
  explicit WriteOp(const RadosApi& api) : api_(api), op_(api.create_write_op()) {}
  ~WriteOp() { api_.release_write_op(op_); }
  WriteOp(const WriteOp&) = delete;
  WriteOp& operator=(const WriteOp&) = delete;

  void CreateExclusively();  // -EEXIST if the object is there
  void Create();             // unless it is there
  // -ECANCELED unless the attribute is there and equal.
  void GuardAttribute(const char* name, std::string_view value);
  // -ECANCELED unless the omap has no such key (or, as none does under a key that is guarded, an
  // empty value).
  void GuardAbsent(std::string_view key);
  // -ECANCELED unless the key has this value.
  void GuardEqual(std::string_view key, std::string_view value);
  // -ECANCELED unless above < the key's value < below.
  void GuardBetween(std::string_view key, std::string_view above, std::string_view below);
  void SetAttribute(const char* name, std::string_view value);
  void Set(std::span<const std::string> keys, std::span<const std::string> values);
  void Set(const std::string& key, const std::string& value) { Set({&key, 1}, {&value, 1}); }
  void Remove(std::span<const std::string> keys);
  void RemoveRange(std::string_view begin, std::string_view end);

  rados_write_op_t get() const { return op_; }

 private:
  void Compare(std::string_view key, uint8_t how, std::string_view value);

  const RadosApi& api_;
  const rados_write_op_t op_;
};

// One read operation on one object. All its parts read one state of the object. Results are valid
// once the operation has succeeded, and live as long as this object.
class ReadOp {
 public:
  explicit ReadOp(const RadosApi& api) : api_(api), op_(api.create_read_op()) {}
  ~ReadOp();
  ReadOp(const ReadOp&) = delete;
  ReadOp& operator=(const ReadOp&) = delete;

  // -ECANCELED unless the attribute is there and equal.
  void GuardAttribute(const char* name, std::string_view value);
  // -ECANCELED if the attribute is there and equal.
  void GuardAttributeIsNot(const char* name, std::string_view value);
  // Reads all attributes of the object. They are returned also if a later guard of the operation
  // has refused it.
  void Attributes();
  // Each adds a part to the operation and returns the part's number. `start_after` and `prefix`
  // must not have zero bytes.
  size_t Keys(std::span<const std::string> keys);
  size_t Range(const std::string& start_after, const std::string& prefix, size_t limit);
  // Reads a range of keys without their values.
  size_t Cells(const std::string& start_after, size_t limit);

  // Returns an attribute's value, if the operation asked for Attributes; "" if the object has no
  // such attribute.
  std::string attribute(const char* name);
  // Calls visit(key, value) in the order of the keys until it returns false, once. The views live
  // as long as the operation.
  void ForEach(size_t part, FunctionRef<bool(std::string_view key, std::string_view value)> visit);
  // How many keys it returned.
  size_t size(size_t part) const { return api_.omap_iter_size(parts_[part].iterator); }
  // Whether a range has more keys than it returned.
  bool more(size_t part) const { return parts_[part].more != 0; }

  rados_read_op_t get() const { return op_; }

 private:
  struct Part {
    rados_omap_iter_t iterator = nullptr;
    unsigned char more = 0;
    int status = 0;
  };

  const RadosApi& api_;
  const rados_read_op_t op_;
  std::deque<Part> parts_;  // librados writes into them
  bool wants_attributes_ = false;
  rados_xattrs_iter_t attributes_ = nullptr;
  int attributes_status_ = 0;
  std::optional<std::map<std::string, std::string>> taken_attributes_;
};

// What hears of notifications on an object. Called on threads of librados, which must not be kept.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // A message has arrived. Its sender waits until Cluster::Acknowledge is called with both numbers.
  // May be called before the call that set up the watch has returned.
  virtual void OnMessage(uint64_t notification, uint64_t watch, std::string_view message) = 0;
  // The watch has ended, and messages may have been missed. The owner must still call UnwatchLater.
  virtual void OnLost(uint64_t watch, int result) = 0;
};

// Thread-safe. Results of operations are 0 or -errno; -ETIMEDOUT, of a write, says nothing about
// its outcome.
class Cluster {
 public:
  // Connects and finds the pool. Errors as OpenRados.
  static Result<std::unique_ptr<Cluster>> Connect(const RadosOptions& options);
  // What stands in for librados and for the threads of the machine, in a simulation.
  struct Surroundings {
    const RadosApi& api;
    Host* host = nullptr;
    Limits limits = {};
  };
  static Result<std::unique_ptr<Cluster>> Connect(const RadosOptions& options,
                                                  const Surroundings& surroundings);
  ~Cluster();  // no operation may be under way

  const RadosApi& api() const { return api_; }
  Host* host() const { return host_; }
  const Limits& limits() const { return limits_; }
  // Waits, if the host does not end it early.
  void Sleep(int64_t micros) const;
  // What each thread has of its own.
  struct OfThread {
    bool in_callback = false;
    std::optional<int64_t> since;
  };
  static OfThread& ThisThread();
  // True on a thread of librados that calls a `done`: all others wait for it, so it must not wait
  // for an answer. Write and Read refuse to (-EDEADLK).
  static bool InCallback();
  int Write(const std::string& object, const WriteOp& op);
  // Fills an operation and writes it. While answers time out, it repeats that with a new operation,
  // up to the deadline of the options. So an earlier operation may have been applied whatever the
  // result of the last one is.
  int WriteAgain(const std::string& object, FunctionRef<void(WriteOp&)> fill);
  // While a Since lives, reads of its thread count as begun at `ticks`, for their deadline: a
  // caller has waited since then. The innermost Since counts.
  class Since {
   public:
    explicit Since(int64_t ticks);
    ~Since();
    Since(const Since&) = delete;
    Since& operator=(const Since&) = delete;

   private:
    const std::optional<int64_t> outer_;
  };
  // Fills an operation and reads; again, with a new one, while answers time out and the deadline of
  // the options has not passed.
  int Read(const std::string& object, FunctionRef<void(ReadOp&)> fill,
           std::unique_ptr<ReadOp>* read);
  // `done` runs on a thread of librados, which must not wait and must not be kept. The operation
  // must live until then.
  void WriteLater(const std::string& object, const WriteOp& op, UniqueFunction<void(int)> done);
  void ReadLater(const std::string& object, const ReadOp& op, UniqueFunction<void(int)> done);

  // Watches an object. `watcher` must live until the watch is given up and FlushWatches has
  // returned, or as long as the cluster. *watch is set at once; `done`, as of WriteLater, says
  // whether the watch stands. The OSDs forget a watch whose process they have not heard of for
  // `seconds`.
  void WatchLater(const std::string& object, Watcher* watcher, int seconds, uint64_t* watch,
                  UniqueFunction<void(int)> done);
  // Ends a watch. Call it for each watch that was set up, even if it is lost.
  void UnwatchLater(uint64_t watch, UniqueFunction<void(int)> done);
  // Waits until no call of a watcher is under way.
  void FlushWatches() { api_.watch_flush(cluster_); }
  // Sends a message to those who watch the object. `done` gets 0 once all have acknowledged it,
  // -ETIMEDOUT if one has not within `seconds`, or the OSD has not answered.
  void NotifyLater(const std::string& object, std::string_view message, int seconds,
                   UniqueFunction<void(int)> done);
  void Acknowledge(const std::string& object, uint64_t notification, uint64_t watch);

  // Why the pool takes no writes, if a monitor says that it is full. Waits for the network.
  std::optional<Error> WhyFull();
  // False too if no monitor says. Waits for the network.
  bool IsErasureCoded();

  // Returns the error, with a sentence for people, for a result other than 0: kOutcomeUnknown for a
  // write that timed out, kCorruption for a missing object of an existing pool, kUnavailable
  // otherwise.
  Error ErrorOf(int result, const std::string& object, bool write) const;
  const RadosOptions& options() const { return options_; }
  StoreFormat& format() { return format_; }
  // Returns true if the deadline of a call that began at `ticks` has passed.
  bool PastDeadline(int64_t ticks) const {
    return clock().TicksMicros() - ticks > options_.deadline_seconds * 1'000'000LL;
  }
  const Clock& clock() const { return options_.clock != nullptr ? *options_.clock : system_clock_; }

 private:
  Cluster(const Surroundings& surroundings, const RadosOptions& options)
      : api_(surroundings.api),
        host_(surroundings.host),
        limits_(surroundings.limits),
        options_(options) {}
  Status Start();
  // What `ceph osd dump` says of the pool behind its name, or none if no monitor answers.
  std::optional<std::string> DescribePool();
  // Whether the newest map that this process has seen has no such pool, whatever now has its name.
  bool PoolIsGone() const;
  void Submit(UniqueFunction<void(int)> done, FunctionRef<int(rados_completion_t)> submit);

  const RadosApi& api_;
  Host* const host_;
  const Limits limits_;
  const RadosOptions options_;
  const SystemClock system_clock_;
  StoreFormat format_;
  rados_t cluster_ = nullptr;
  rados_ioctx_t pool_ = nullptr;
};

}  // namespace stator::kv_rados
