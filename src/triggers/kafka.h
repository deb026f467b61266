// Topics of a Kafka cluster.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "triggers/function.h"
#include "triggers/taken.h"

namespace stator::triggers {

class KafkaProducer;

// Reads a file of librdkafka's properties: NAME=VALUE, a line each; # begins a comment.
// kValidation, without any value, for a line that is none, and for a property that is Stator's.
Result<std::vector<std::pair<std::string, std::string>>> ReadKafkaProperties(
    const std::string& path);
// Whether a topic may have that name.
bool IsTopicName(std::string_view name);
// Checks that there can be producers for the function: the library is there, and knows its
// properties. kValidation with the reason.
Status CheckKafka(const FunctionSettings& function);

// A topic as a target, with a message for each change: the item's key as JSON, and the change as in
// an event. A batch is done when all brokers that must have its messages have acknowledged them.
class KafkaTopic final : public Target {
 public:
  // `clock` measures; it outlives the target.
  KafkaTopic(FunctionSettings function, const Clock& clock);
  ~KafkaTopic() override;
  std::string_view not_run() const override { return "the brokers have not taken all messages: "; }
  void Render(const RawChange& raw, ByteBuffer* scratch, Change* change) const override;
  Outcome Deliver(const Batch& batch) override;
  // A message of the document; without its payload, if that makes it too large.
  Outcome Report(const Batch& batch, const std::string& head) override;
  void Cancel() override { cancelled_ = true; }

 private:
  struct Message {
    std::string_view key;
    std::string_view value;
  };
  // The fates of messages: an error of librdkafka each, 0 where a message is acknowledged.
  struct Fates {
    std::vector<int> errors;    // of the first messages; the others were not sent
    std::optional<int> unsent;  // why the next message could not be sent
    std::string text;           // of the first error, for people
    int first_error = 0;
  };
  // Sends messages and waits for what becomes of them, as long as the timeout.
  Result<Fates> Send(const std::vector<Message>& messages);
  Result<std::shared_ptr<KafkaProducer>> Producer();

  const FunctionSettings function_;
  const Clock& clock_;
  std::atomic<bool> cancelled_{false};
  std::shared_ptr<KafkaProducer> producer_;  // null: to be found
  TakenChanges taken_;
};

}  // namespace stator::triggers
