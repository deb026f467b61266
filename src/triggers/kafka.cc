#include "triggers/kafka.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <map>
#include <thread>

#include "base/mutex.h"
#include "base/mutex_wait.h"
#include "base/printable.h"
#include "triggers/event.h"
#include "triggers/kafka_api.h"

namespace stator::triggers {
namespace {

constexpr size_t kMostProperties = 100;
constexpr size_t kMostTopicName = 249;
// Stator sets these: its order and bounds rest on them.
constexpr std::array kOwnProperties = {
    std::string_view("acks"),
    std::string_view("background_event_cb"),
    std::string_view("bootstrap.servers"),
    std::string_view("debug"),
    std::string_view("delivery.timeout.ms"),
    std::string_view("dr_cb"),
    std::string_view("dr_msg_cb"),
    std::string_view("enable.gapless.guarantee"),
    std::string_view("enable.idempotence"),
    std::string_view("error_cb"),
    std::string_view("log_cb"),
    std::string_view("message.timeout.ms"),
    std::string_view("metadata.broker.list"),
    std::string_view("opaque"),
    std::string_view("plugin.library.paths"),
    std::string_view("request.required.acks"),
    std::string_view("transactional.id"),
};

bool IsOwn(std::string_view name) {
  return std::find(kOwnProperties.begin(), kOwnProperties.end(), name) != kOwnProperties.end() ||
         name.starts_with("queue.buffering.max.") || name.starts_with("max.in.flight");
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> ReadKafkaProperties(
    const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return ValidationError("there is no file " + path);
  std::vector<std::pair<std::string, std::string>> properties;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string_view text = Trimmed(line);
    if (text.empty() || text.front() == '#') continue;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return ValidationError(fmt::format("line {} of {} is no NAME=VALUE", number, path));
    const std::string name(Trimmed(text.substr(0, equals)));
    if (IsOwn(name)) {
      return ValidationError(
          fmt::format("line {} of {}: {} is not to be set there", number, path, name));
    }
    if (properties.size() == kMostProperties)
      return ValidationError(fmt::format("{} has more than {} lines", path, kMostProperties));
    properties.emplace_back(name, Trimmed(text.substr(equals + 1)));
  }
  return properties;
}

bool IsTopicName(std::string_view name) {
  return !name.empty() && name.size() <= kMostTopicName && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

#ifdef STATOR_KAFKA
namespace {

constexpr int kPollMillis = 100;
constexpr int kLastPolls = 20;  // for what was purged
constexpr auto kNap = std::chrono::milliseconds(5);
// Purged messages are reported at once: this only bounds what must not happen.
constexpr int64_t kPurgeMicros = 2'000'000;
constexpr size_t kMessageBytes = 512;  // that a message takes in the library beside its text

// The fates of the messages of one call.
struct Wait {
  Mutex mutex;
  std::condition_variable_any wake;
  std::vector<int> errors GUARDED_BY(mutex);
  size_t reported GUARDED_BY(mutex) = 0;
};
struct Slot {
  std::shared_ptr<Wait> wait;
  size_t index;
};
constexpr int kPending = RD_KAFKA_RESP_ERR__IN_PROGRESS;

// Errors that the same message will meet again.
bool IsOfMessage(int error) {
  return error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE || error == RD_KAFKA_RESP_ERR_INVALID_MSG ||
         error == RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE || error == RD_KAFKA_RESP_ERR_INVALID_RECORD ||
         error == RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP;
}

}  // namespace

// A producer of one cluster, for all its topics, with a thread that hears of deliveries.
// Thread-safe.
class KafkaProducer {
 public:
  // kValidation if a property is refused.
  static Result<std::shared_ptr<KafkaProducer>> Make(const FunctionSettings& function) {
    ASSIGN_OR_RETURN(const KafkaApi* api, LoadKafka());
    std::shared_ptr<KafkaProducer> producer(new KafkaProducer(*api));
    rd_kafka_conf_t* const conf = api->conf_new_();
    std::array<char, 512> why{};
    std::string problem;
    const auto set = [&](const std::string& name, const std::string& value) {
      if (!problem.empty()) return;
      if (api->conf_set_(conf, name.c_str(), value.c_str(), why.data(), why.size()) !=
          RD_KAFKA_CONF_OK)
        // The library's reason may hold the value.
        problem = fmt::format("the property {} of Kafka is refused", name);
    };
    set("bootstrap.servers", function.brokers);
    set("client.id", "stator");
    set("acks", "all");
    set("enable.idempotence", "true");
    // No timeout of the library: the caller has its own. If the library gave up one message, later
    // ones would overtake it; the caller gives up all of them together.
    set("message.timeout.ms", "0");
    set("queue.buffering.max.kbytes", "65536");
    set("queue.buffering.max.messages", "100000");
    set("linger.ms", "2");
    set("log_level", "0");
    set("partitioner", "murmur2_random");  // as clients in Java have it
    set("socket.keepalive.enable", "true");
    for (const auto& [name, value] : function.properties) set(name, value);
    api->conf_set_opaque_(conf, producer.get());
    api->conf_set_dr_msg_cb_(conf, &OnDelivered);
    api->conf_set_error_cb_(conf, &OnError);
    api->conf_set_log_cb_(conf, &OnLog);
    if (problem.empty()) {
      producer->kafka_ = api->new_(RD_KAFKA_PRODUCER, conf, why.data(), why.size());
      if (producer->kafka_ == nullptr) problem = Printable(why.data());
    }
    if (!problem.empty()) {
      api->conf_destroy_(conf);
      return ValidationError(problem);
    }
    producer->thread_ = std::thread([raw = producer.get()] { raw->Run(); });
    return producer;
  }
  ~KafkaProducer() {
    stopped_ = true;
    if (kafka_ == nullptr) return;
    Purge();
    if (thread_.joinable()) thread_.join();
    for (const auto& [name, topic] : topics_) api_.topic_destroy_(topic);
    api_.destroy_(kafka_);
  }
  KafkaProducer(const KafkaProducer&) = delete;
  KafkaProducer& operator=(const KafkaProducer&) = delete;

  // Returns an error of librdkafka, or 0. The message is copied.
  int Produce(const std::string& topic, std::string_view key, std::string_view value,
              std::shared_ptr<Wait> wait, size_t index) {
    rd_kafka_topic_t* const handle = TopicOf(topic);
    if (handle == nullptr) return api_.last_error_();
    auto slot = std::make_unique<Slot>(Slot{std::move(wait), index});
    const int refused = api_.produce_(handle, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY,
                                      const_cast<char*>(value.data()), value.size(), key.data(),
                                      key.size(), slot.get());
    if (refused != 0) return api_.last_error_();
    (void)slot.release();  // OnDelivered has it
    return 0;
  }
  // Gives up all messages, sent or not: they are reported as purged.
  void Purge() { api_.purge_(kafka_, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT); }
  // Returns true if the producer can be used no more.
  bool IsBroken() const { return api_.fatal_error_(kafka_, nullptr, 0) != 0; }
  std::string TextOf(int error) const {
    std::string text = api_.err2str_(static_cast<rd_kafka_resp_err_t>(error));
    MutexLock lock(mutex_);
    const bool vague = error == kPending || error == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
                       error == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
    if (vague) text = "not acknowledged in time";
    if (vague && !last_error_.empty()) text += ": " + last_error_;
    return text;
  }

 private:
  explicit KafkaProducer(const KafkaApi& api) : api_(api) {}

  void Run() {
    while (!stopped_) api_.poll_(kafka_, kPollMillis);
    for (int polls = 0; polls < kLastPolls && api_.outq_len_(kafka_) > 0; ++polls)
      api_.poll_(kafka_, kPollMillis);
  }
  rd_kafka_topic_t* TopicOf(const std::string& name) {
    MutexLock lock(mutex_);
    rd_kafka_topic_t*& topic = topics_[name];
    if (topic == nullptr) topic = api_.topic_new_(kafka_, name.c_str(), nullptr);
    return topic;
  }
  static void OnDelivered(rd_kafka_t*, const rd_kafka_message_t* message, void*) {
    const std::unique_ptr<Slot> slot(static_cast<Slot*>(message->_private));
    MutexLock lock(slot->wait->mutex);
    slot->wait->errors[slot->index] = message->err;
    ++slot->wait->reported;
    slot->wait->wake.notify_all();
  }
  static void OnError(rd_kafka_t*, int error, const char* why, void* opaque) {
    auto* const self = static_cast<KafkaProducer*>(opaque);
    MutexLock lock(self->mutex_);
    // It follows from the errors before it.
    if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN && !self->last_error_.empty()) return;
    self->last_error_ = Printable(std::string_view(why == nullptr ? "" : why).substr(0, 300));
  }
  static void OnLog(const rd_kafka_t*, int, const char*, const char*) {}

  const KafkaApi& api_;
  rd_kafka_t* kafka_ = nullptr;
  std::atomic<bool> stopped_{false};
  mutable Mutex mutex_;
  std::map<std::string, rd_kafka_topic_t*> topics_ GUARDED_BY(mutex_);
  std::string last_error_ GUARDED_BY(mutex_);
  std::thread thread_;
};

namespace {

// The producers in use: each has threads of its own, so all lanes to a cluster share one.
class Producers {
 public:
  static Producers& Get() {
    static Producers producers;
    return producers;
  }
  Result<std::shared_ptr<KafkaProducer>> Of(const FunctionSettings& function) {
    std::string id = function.brokers + '\n';
    for (const auto& [name, value] : function.properties) id += name + '=' + value + '\n';
    MutexLock lock(mutex_);
    std::erase_if(made_, [](const auto& each) { return each.second.expired(); });
    std::shared_ptr<KafkaProducer> there = made_[id].lock();
    if (there != nullptr && !there->IsBroken()) return there;
    ASSIGN_OR_RETURN(there, KafkaProducer::Make(function));
    made_[id] = there;
    return there;
  }

 private:
  Mutex mutex_;
  std::map<std::string, std::weak_ptr<KafkaProducer>> made_ GUARDED_BY(mutex_);
};

}  // namespace

Status CheckKafka(const FunctionSettings& function) {
  const Result<std::shared_ptr<KafkaProducer>> made = KafkaProducer::Make(function);
  if (!made.ok()) return ValidationError(made.error().message());
  return OkStatus();
}

Result<std::shared_ptr<KafkaProducer>> KafkaTopic::Producer() {
  if (producer_ == nullptr || producer_->IsBroken()) {
    producer_.reset();
    ASSIGN_OR_RETURN(producer_, Producers::Get().Of(function_));
  }
  return producer_;
}

Result<KafkaTopic::Fates> KafkaTopic::Send(const std::vector<Message>& messages) {
  ASSIGN_OR_RETURN(const std::shared_ptr<KafkaProducer> producer, Producer());
  const auto wait = std::make_shared<Wait>();
  {
    MutexLock lock(wait->mutex);
    wait->errors.assign(messages.size(), kPending);
  }
  const int64_t ends = clock_.TicksMicros() + function_.timeout_micros;
  const auto over = [&](int64_t end) { return cancelled_ || clock_.TicksMicros() >= end; };
  Fates fates;
  size_t sent = 0;
  while (sent < messages.size()) {
    const auto& [key, value] = messages[sent];
    const int error = producer->Produce(function_.topic, key, value, wait, sent);
    if (error == 0) {
      ++sent;
    } else if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL && !over(ends)) {
      std::this_thread::sleep_for(kNap);
    } else {
      fates.unsent = error;
      break;
    }
  }
  const auto reported = [&](int64_t end) {
    UniqueMutexLock lock(wait->mutex);
    while (true) {
      AssertHeld(wait->mutex);
      if (wait->reported == sent) return true;
      if (over(end)) return false;
      wait->wake.wait_for(lock, kNap);
    }
  };
  if (!reported(ends) && !cancelled_) {
    producer->Purge();
    (void)reported(clock_.TicksMicros() + kPurgeMicros);
  }
  MutexLock lock(wait->mutex);
  fates.errors.assign(wait->errors.begin(),
                      wait->errors.begin() + static_cast<std::ptrdiff_t>(sent));
  for (const int error : fates.errors) {
    if (fates.first_error == 0) fates.first_error = error;
  }
  if (fates.first_error == 0) fates.first_error = fates.unsent.value_or(0);
  if (fates.first_error != 0) fates.text = producer->TextOf(fates.first_error);
  return fates;
}

Outcome KafkaTopic::Deliver(const Batch& batch) {
  using Kind = Outcome::Kind;
  taken_.Begin(batch);
  const auto not_run = [&](std::string text) {
    return Outcome{
        .kind = Kind::kNotRun, .first_failed = taken_.FirstMissing(batch), .text = std::move(text)};
  };
  // All missing changes may be sent together: librdkafka keeps the order of the messages in its
  // queue.
  std::vector<size_t> sent =
      taken_.Missing(batch, batch.changes.size(), batch.changes.size(), /*in_order=*/false);
  std::vector<Message> messages;
  size_t bytes = 0;
  for (const size_t i : sent) {
    messages.push_back({batch.changes[i]->key(), batch.changes[i]->json()});
    bytes += batch.changes[i]->text.size() + kMessageBytes;
  }
  std::optional<Account::Share> share;
  if (!TakeInTurn(batch, bytes, cancelled_, &share)) return not_run("stopped");
  const Result<Fates> fates = Send(messages);
  if (!fates.ok()) return not_run(fates.error().message());
  const size_t unsent = fates->unsent ? sent[fates->errors.size()] : SIZE_MAX;
  sent.resize(fates->errors.size());
  std::vector<bool> taken;
  for (const int error : fates->errors) taken.push_back(error == 0);
  taken_.Note(batch, sent, taken);
  const size_t first = taken_.FirstMissing(batch);
  if (first == batch.changes.size()) return {};
  Outcome outcome = not_run(fates->text);
  outcome.refused =
      static_cast<size_t>(std::count(taken.begin(), taken.end(), false)) + (fates->unsent ? 1 : 0);
  if (IsOfMessage(fates->first_error)) outcome.kind = Kind::kFailed;
  // It is larger than message.max.bytes of the properties.
  outcome.hopeless = outcome.kind == Kind::kFailed && unsent == first;
  return outcome;
}

Outcome KafkaTopic::Report(const Batch& batch, const std::string& head) {
  using Kind = Outcome::Kind;
  // Documents of a shard of the table are in one partition.
  const std::string key = fmt::format("{}/{}", batch.uuid, batch.shard_id);
  const std::string begin = EventBody::ReportHead(head);
  const EventBody event(begin, batch, EventBody::kReportTail);
  std::optional<Account::Share> share;
  if (!TakeInTurn(batch, 2 * event.size() + kMessageBytes, cancelled_, &share))
    return {.kind = Kind::kNotRun, .text = "stopped"};
  std::string document = event.Text();
  for (const bool whole : {true, false}) {
    if (!whole) document = head + "}";
    const Result<Fates> fates = Send({{key, document}});
    if (!fates.ok()) return {.kind = Kind::kNotRun, .text = fates.error().message()};
    if (fates->first_error == 0) return {};
    if (!whole || !IsOfMessage(fates->first_error))
      return {.kind = Kind::kNotRun, .text = fates->text};
  }
  return {};
}
#else
class KafkaProducer {};

Status CheckKafka(const FunctionSettings&) {
  return ValidationError(LoadKafka().error().message());
}

Outcome KafkaTopic::Deliver(const Batch&) {
  return {.kind = Outcome::Kind::kNotRun, .text = LoadKafka().error().message()};
}

Outcome KafkaTopic::Report(const Batch& batch, const std::string&) { return Deliver(batch); }
#endif

KafkaTopic::KafkaTopic(FunctionSettings function, const Clock& clock)
    : function_(std::move(function)), clock_(clock) {}
KafkaTopic::~KafkaTopic() = default;

void KafkaTopic::Render(const RawChange& raw, ByteBuffer* scratch, Change* change) const {
  const std::string key = KeyJsonOf(raw.record.keys, scratch);
  change->text = RecordJson(raw, key, scratch);
  change->key_bytes = key.size();
}

}  // namespace stator::triggers
