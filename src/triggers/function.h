// Functions: what mappings deliver to. The operator declares them in stator.toml,
// never by a client, so a client cannot make the server call an address of its choice.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "egress/client.h"
#include "stream/record.h"
#include "stream/stream.h"
#include "triggers/account.h"
#include "triggers/lane.h"
#include "triggers/tumbling.h"

namespace stator {
class ByteBuffer;
}
namespace stator::triggers {

struct FunctionSettings {
  enum class Kind {
    kInvoke,     // Lambda's Invoke API
    kPlain,      // a web server: the event is POSTed to the URL
    kDirectory,  // an archive of files
    kBucket,     // an archive of objects
    kKinesis,    // a data stream of an endpoint of Kinesis
    kKafka,      // a topic of a Kafka cluster
  };
  std::string name;  // "*": every name that no other function has; of kInvoke only
  Kind kind = Kind::kPlain;
  // kInvoke: a URL without a path, to which /2015-03-31/functions/NAME/invocations is added, or one
  // that ends in /invocations.
  std::string url;
  std::string directory;
  std::string bucket;  // https://HOST/BUCKET/PREFIX
  // The ARN of a stream, with kKinesis; empty for the destinations of tables: then
  // Batch::function is the ARN.
  std::string stream;
  std::string brokers;  // of kKafka: HOST:PORT,...
  std::string topic;
  std::vector<std::pair<std::string, std::string>> properties;  // of librdkafka; has secrets
  std::string secret;  // of kPlain: signs the webhook; empty: it is not signed
  std::string authorities_file;
  int64_t timeout_micros = 60'000'000;

  bool operator==(const FunctionSettings&) const = default;
};

// Returns the feature of kv/features.cc that a store with a mapping to the function needs beside
// that of mappings; empty: none.
std::string_view FeatureOf(const FunctionSettings& function);

// Returns true if calls of the function have an answer with a state, which tumbling windows need.
bool AnswersWithState(const FunctionSettings& function);

// One setting of a [[functions]] section of stator.toml: its name, and its values as text.
struct Setting {
  std::string name;
  std::vector<std::string> values;
};
// Paths are taken from `directory`.
Status AddFunction(const std::vector<Setting>& settings, const std::string& directory,
                   std::vector<FunctionSettings>* functions);
// Returns the function that a name, perhaps with ":alias", stands for; null if there is none.
const FunctionSettings* FindFunction(const std::vector<FunctionSettings>& functions,
                                     std::string_view name);

// Hears how far a call is, on the thread of the call.
class BatchListener {
 public:
  virtual ~BatchListener() = default;
  // All changes are sent: their JSON may be freed.
  virtual void OnSent() = 0;
  // Returns true if the changes' JSON is still in memory, so that the batch can be sent again. It
  // then stays until OnSent.
  virtual bool OnAgain() = 0;
};

struct Batch {
  std::string_view uuid;  // of the mapping
  std::string_view function;
  std::string_view table;
  std::string_view shard_id;
  std::vector<const Change*> changes;  // at least one, but for the final call of a window
  const WindowCall* window = nullptr;  // null: there are no tumbling windows
  bool reports_failures = false;       // the answer may name the first change that failed
  BatchListener* listener = nullptr;   // null: there is none
  Account* calls = nullptr;            // of what calls hold beside the changes; null: no bound
};

// Waits for memory beside the changes of a batch, which `share` holds then. False: `cancelled`.
bool TakeInTurn(const Batch& batch, size_t bytes, const std::atomic<bool>& cancelled,
                std::optional<Account::Share>* share);

struct Outcome {
  enum class Kind {
    kDone,
    kFailed,  // the function failed, from `first_failed` on
    kNotRun,  // it could not be run: unreachable, throttled, overloaded
  };
  Kind kind = Kind::kDone;
  // kFailed: of the first change that failed; kNotRun: of the first that is not delivered.
  size_t first_failed = 0;
  std::string text = {};  // what happened, for people; empty for kDone
  int status = 0;         // of HTTP; 0: there was no answer
  size_t refused = 0;     // changes that were refused one by one, as beyond a throughput
  // With a window, of kDone, and of kFailed if changes before `first_failed` are done: the JSON
  // object that the function returned as state.
  std::optional<std::string> state = {};
  bool hopeless = false;  // kFailed: the change `first_failed` can never be delivered
};

// A change as it is read, to be rendered.
struct RawChange {
  const stream::StreamDescriptor& stream;
  const stream::Record& record;
  std::string_view region;
  std::string_view arn;  // of the stream
  bool micros = false;   // of a Kinesis destination
  size_t most = 0;       // the result of MostRecordBytes
};

// A function as one lane calls it. For one thread at a time, but for Cancel and what is const.
class Target {
 public:
  virtual ~Target() = default;
  // The most bytes of a batch.
  virtual size_t most_bytes() const { return kMostEventBytes; }
  // Larger changes are dropped, and counted.
  virtual size_t most_change_bytes() const { return SIZE_MAX; }
  // The words before the reason why changes were not delivered.
  virtual std::string_view not_run() const { return "the function could not be called: "; }
  // Sets the text of a change, in a string of its size. Overwrites `scratch`.
  virtual void Render(const RawChange& raw, ByteBuffer* scratch, Change* change) const;
  // Delivers a batch. Blocks, at most as long as the function's timeout.
  virtual Outcome Deliver(const Batch& batch) = 0;
  // Delivers a document about changes that were discarded: a JSON object that begins with `head`,
  // and whose last member, "payload", is their event. Blocks in the same way.
  virtual Outcome Report(const Batch& batch, const std::string& head) = 0;
  // Ends the call under way, and fails later ones. Thread-safe.
  virtual void Cancel() = 0;
};

// A cache of certificate authorities by file: all users of a file share one object. Thread-safe.
class Trusts {
 public:
  Result<std::shared_ptr<const egress::TlsTrust>> Of(const std::string& authorities_file);

 private:
  Mutex mutex_;
  std::map<std::string, std::weak_ptr<const egress::TlsTrust>> loaded_ GUARDED_BY(mutex_);
};

// Returns a target that calls a function. `clock` measures timeouts, `dates` is the product's; both
// outlive it. kValidation if its URL or its certificates are none.
Result<std::unique_ptr<Target>> MakeTarget(const FunctionSettings& function, const Clock& clock,
                                           const Clock& dates, Trusts* trusts);

}  // namespace stator::triggers
