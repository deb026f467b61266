// What every operation is handed: where the data is, what time it is, and on which loop its answer
// is awaited.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/executor.h"
#include "base/long_work.h"
#include "base/random.h"
#include "base/result.h"
#include "base/seal.h"
#include "base/unique_function.h"
#include "ops/admission.h"
#include "ops/auto_scaler.h"
#include "ops/fault_dial.h"
#include "ops/item_list.h"
#include "table/settled_changes.h"
#include "throughput/model_settings.h"

namespace stator {
class MemoryLease;
namespace kv {
struct BatchFate;
}
namespace table {
class Store;
struct Table;
}  // namespace table
namespace transfer {
class Backups;
class Restores;
}  // namespace transfer
}  // namespace stator

namespace stator::ops {

class ResourcePolicies;  // ops/resource_policies.h

// Settings that show in answers.
struct Settings {
  std::string account = "000000000000";
  std::string region = "us-east-1";
  std::string endpoint = "127.0.0.1:8000";  // what DescribeEndpoints answers
  throughput::ModelSettings throughput;     // quotas, and what on-demand starts with
  bool delay_transient_statuses =
      false;  // tables stay CREATING and DELETING for a while, as in the cloud
  int64_t pitr_lag_micros = 1'000'000;  // how far LatestRestorableDateTime is behind the clock
  bool kinesis = false;                 // there is an endpoint for Kinesis destinations
  bool strict = false;                  // settings of tables that have no effect here are refused
};

// Shared by all requests; thread-safe parts only.
struct Environment {
  table::Store& store;
  const Clock& clock;
  Random& random;
  WorkerPool& workers;
  Settings settings;
  FaultDial faults;
  Admission admission{store, clock};  // asleep until its Start
  AutoScaler auto_scaler = {};
  // Seals positions that clients keep. This process's own unless the server has set the store's,
  // which it does before requests.
  Seal seal = {};
  LongWork long_work{workers};  // what takes a loop's thread more than about a millisecond
  ResourcePolicies* resource_policies = nullptr;  // null: there are none, without access control
  transfer::Backups* backups = nullptr;           // null: the store's engine has none
  transfer::Restores* restores = nullptr;         // null under the same condition
  table::SettledChanges settled{store};
};

// Steps (expr::Evaluate) that a loop's thread takes in a row: about a millisecond.
inline constexpr uint64_t kInlineSteps = 250'000;
// The most steps of a short task of LongWork, and of a middle one.
inline constexpr uint64_t kShortSteps = 1'000'000;
inline constexpr uint64_t kMiddleSteps = 10'000'000;
inline LongWork::Length LengthOf(uint64_t steps) {
  if (steps <= kShortSteps) return LongWork::Length::kShort;
  return steps <= kMiddleSteps ? LongWork::Length::kMiddle : LongWork::Length::kLong;
}
// Bytes of a reply that a loop's thread renders.
inline constexpr size_t kInlineReplyBytes = 256 << 10;

// The faults that the fault dial has drawn for the answer to a request.
struct AnswerFaults {
  int64_t delay_micros = 0;
  bool lost = false;     // the operation is done, and the client is told InternalServerError
  bool refused = false;  // the error that the operation answers is one of the dial's
};

// An item that a write changes or checks.
struct WrittenItem {
  const table::Table* table = nullptr;
  std::string_view key;  // EncodeItemKey
};

// Hands writes over to the process that writes their part (docs/adr/0024-*.md).
class WriteForwarder {
 public:
  virtual ~WriteForwarder() = default;
  // Hands the request over, which changes or checks these items and no others. Returns false, and
  // leaves `run_here` untouched, if it is to be run here. Else `run_here` is kept until the answer:
  // called on the thread of the request's loop if the other process refused the request and changed
  // nothing, destroyed after the client was answered otherwise. Only while the request is being
  // handed in.
  virtual bool TryForward(std::span<const WrittenItem> items, UniqueFunction<void()>& run_here) = 0;

  // The outcome of a write; nullopt: the other process refused it and changed nothing.
  using EntryDone = UniqueFunction<void(std::optional<Status>)>;
  // Hands a single write of a batch over to another process: puts `item` or, if `put` is false,
  // deletes the item with that key. Returns false, and leaves `done` untouched, if this process
  // must run the write. Otherwise calls `done` once, on the thread of the request's loop. The
  // request must not be answered before.
  virtual bool TryForwardEntry(const table::Table& table, std::string_view key, bool put,
                               model::ItemView item, EntryDone& done) = 0;
};

// One request. `loop` is the executor of the connection; operations answer through their callback
// on that executor's thread.
struct Context {
  Environment& env;
  Executor& loop;
  std::string_view operation =
      {};  // a client's; empty: work of the server's own, which meets no faults
  AnswerFaults faults = {};
  // Writes the items of Query and Scan in the form of the reply. Null: items stay encoded.
  ItemWriter item_writer = nullptr;
  // True if this process has read all catalog changes that other processes made before the request.
  // If it is false, an operation that does not find its table, or finds that it was deleted, is run
  // again after the catalog was read. So the operation must return that error before it does
  // anything.
  bool catalog_known = true;
  // The moment that a read answers, a whole millisecond since the epoch (as_of.h); nullopt: the
  // present.
  std::optional<int64_t> as_of_millis = {};
  // Where the request counts what its answer holds (answer_bytes.h); null: nowhere.
  MemoryLease* memory = nullptr;
  WriteForwarder* forwarder = nullptr;  // null: every write is run here
  // The permit (kv/permit.h) without which a write that another process has handed over changes
  // nothing; such a write meets no faults here, because it has met those of its door. Else null.
  std::shared_ptr<const kv::BatchFate> permit = {};
  // The caller's account, whose tables a name without an ARN means; empty: the default account.
  std::string account = {};
  // Whether the caller's key was verified, so that the account in an ARN says whose table it is. If
  // not, every ARN names a table of the default account.
  bool tells_accounts = false;
};

// Called exactly once, on the thread of Context::loop; inline when nothing had to be waited for.
template <typename T>
using Callback = UniqueFunction<void(Result<T>)>;

}  // namespace stator::ops
