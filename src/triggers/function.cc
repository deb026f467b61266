#include "triggers/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/time_text.h"
#include "egress/url.h"
#include "s3/connect.h"
#include "triggers/archive.h"
#include "triggers/event.h"
#include "triggers/function_http.h"
#include "triggers/kafka.h"
#include "triggers/kinesis.h"
#include "triggers/mapping.h"

namespace stator::triggers {
namespace {

constexpr auto kTurnPause = std::chrono::milliseconds(5);
constexpr int64_t kLeastTimeout = 100'000;
constexpr int64_t kMostTimeout = 900'000'000;  // [D] a function runs for 15 minutes at most
constexpr size_t kMostName = 140;
constexpr size_t kMostSecret = 4096;

Result<std::string> ReadSecret(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return ValidationError("there is no file " + path);
  std::string secret{std::istreambuf_iterator<char>(file), {}};
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  if (secret.empty() || secret.size() > kMostSecret)
    return ValidationError(fmt::format("{} holds no secret of 1 to {} bytes", path, kMostSecret));
  return secret;
}

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMostName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_';
         });
}

Status SetMember(const std::string& name, const std::string& value, const std::string& directory,
                 FunctionSettings* function) {
  const auto path = [&] { return (std::filesystem::path(directory) / value).string(); };
  if (name == "name") {
    function->name = value;
  } else if (name == "url" || name == "lambda") {
    ASSIGN_OR_RETURN(const egress::Url url, egress::ParseUrl(value));
    function->url = value;
    function->kind =
        name == "lambda" ? FunctionSettings::Kind::kInvoke : FunctionSettings::Kind::kPlain;
    if (name == "lambda" && url.target != "/" && !url.target.ends_with("/invocations"))
      return ValidationError(
          "lambda must be a URL without a path, or one that ends in "
          "/invocations, not " +
          value);
  } else if (name == "directory") {
    if (value.empty()) return ValidationError("directory is empty");
    function->directory = path();
    function->kind = FunctionSettings::Kind::kDirectory;
  } else if (name == "bucket") {
    const Result<s3::Place> place = s3::ParsePlace(value);
    if (!place.ok()) return place.error();
    function->bucket = value;
    function->kind = FunctionSettings::Kind::kBucket;
  } else if (name == "kinesis") {
    ASSIGN_OR_RETURN(const egress::Url url, egress::ParseUrl(value));
    (void)url;
    function->url = value;
    function->kind = FunctionSettings::Kind::kKinesis;
  } else if (name == "stream") {
    if (!KinesisArn::Parse(value)) {
      return ValidationError(
          "stream must be an ARN like arn:aws:kinesis:REGION:ACCOUNT:stream/NAME, not " + value);
    }
    function->stream = value;
  } else if (name == "kafka") {
    if (value.empty()) return ValidationError("kafka is empty");
    function->brokers = value;
    function->kind = FunctionSettings::Kind::kKafka;
  } else if (name == "topic") {
    if (!IsTopicName(value)) {
      return ValidationError("topic must be 1 to 249 letters, digits, dots, - and _, not " + value);
    }
    function->topic = value;
  } else if (name == "properties-file") {
    ASSIGN_OR_RETURN(function->properties, ReadKafkaProperties(path()));
  } else if (name == "secret-file") {
    ASSIGN_OR_RETURN(function->secret, ReadSecret(path()));
  } else if (name == "ca-file") {
    function->authorities_file = path();
    const auto trust = egress::TlsTrust::Load(function->authorities_file);
    if (!trust.ok()) return trust.error();
  } else if (name == "timeout") {
    const std::optional<int64_t> micros = ParseDuration(value);
    if (!micros || *micros < kLeastTimeout || *micros > kMostTimeout)
      return ValidationError("timeout must be a duration from 100ms to 15m, not " + value);
    function->timeout_micros = *micros;
  } else {
    return ValidationError(name +
                           " is none of name, lambda, url, directory, bucket, kinesis, stream, "
                           "kafka, topic, properties-file, secret-file, ca-file and timeout");
  }
  return OkStatus();
}

}  // namespace

Status AddFunction(const std::vector<Setting>& settings, const std::string& directory,
                   std::vector<FunctionSettings>* functions) {
  FunctionSettings function;
  int places = 0;
  for (const Setting& setting : settings) {
    if (setting.values.size() != 1) return ValidationError(setting.name + " takes one value");
    places += setting.name == "url" || setting.name == "lambda" || setting.name == "directory" ||
              setting.name == "bucket" || setting.name == "kinesis" || setting.name == "kafka";
    TRY(SetMember(setting.name, setting.values.front(), directory, &function));
  }
  if (places != 1)
    return ValidationError("each needs one of lambda, url, directory, bucket, kinesis and kafka");
  if ((function.kind == FunctionSettings::Kind::kKinesis) == function.stream.empty())
    return ValidationError("kinesis and stream go together");
  const bool kafka = function.kind == FunctionSettings::Kind::kKafka;
  if (kafka == function.topic.empty()) return ValidationError("kafka and topic go together");
  if (!kafka && !function.properties.empty())
    return ValidationError("properties-file is for kafka");
  if (kafka && !function.authorities_file.empty())
    return ValidationError("ca-file is not for kafka: set ssl.ca.location in properties-file");
  if (kafka) TRY(CheckKafka(function));
  const bool any = function.name == "*";
  if (any && function.kind != FunctionSettings::Kind::kInvoke)
    return ValidationError("the name * is for lambda");
  if (!any && !IsName(function.name)) {
    return ValidationError(
        fmt::format("name must be 1 to {} letters, digits, - and _, or * with lambda", kMostName));
  }
  if (!function.secret.empty() && function.kind != FunctionSettings::Kind::kPlain)
    return ValidationError("secret-file is for url");
  for (const FunctionSettings& other : *functions) {
    if (other.name == function.name)
      return ValidationError("there are two functions of the name " + function.name);
    // Each would take the other's files for its own.
    if (!function.directory.empty() && other.directory == function.directory)
      return ValidationError("two functions have the directory " + function.directory);
    if (!function.bucket.empty() && other.bucket == function.bucket)
      return ValidationError("two functions have the bucket " + function.bucket);
  }
  functions->push_back(std::move(function));
  return OkStatus();
}

std::string_view FeatureOf(const FunctionSettings& function) {
  if (function.kind == FunctionSettings::Kind::kKinesis) return kKinesisFeature;
  if (function.kind == FunctionSettings::Kind::kKafka) return kKafkaFeature;
  return {};
}

bool TakeInTurn(const Batch& batch, size_t bytes, const std::atomic<bool>& cancelled,
                std::optional<Account::Share>* share) {
  if (batch.calls == nullptr) return true;
  share->emplace(*batch.calls);
  while (!(*share)->Take(bytes, Account::Need::kMust)) {
    if (cancelled) return false;
    std::this_thread::sleep_for(kTurnPause);
  }
  return true;
}

void Target::Render(const RawChange& raw, ByteBuffer* scratch, Change* change) const {
  change->text = RecordJson(raw, "", scratch);
}

bool AnswersWithState(const FunctionSettings& function) {
  return function.kind == FunctionSettings::Kind::kInvoke ||
         function.kind == FunctionSettings::Kind::kPlain;
}

const FunctionSettings* FindFunction(const std::vector<FunctionSettings>& functions,
                                     std::string_view name) {
  name = name.substr(0, name.find(':'));
  const FunctionSettings* any = nullptr;
  for (const FunctionSettings& each : functions) {
    if (each.name == name) return &each;
    if (each.name == "*") any = &each;
  }
  return any;
}

Result<std::shared_ptr<const egress::TlsTrust>> Trusts::Of(const std::string& authorities_file) {
  MutexLock lock(mutex_);
  std::weak_ptr<const egress::TlsTrust>& place = loaded_[authorities_file];
  if (std::shared_ptr<const egress::TlsTrust> there = place.lock()) return there;
  ASSIGN_OR_RETURN(std::shared_ptr<const egress::TlsTrust> trust,
                   egress::TlsTrust::Load(authorities_file));
  place = trust;
  return trust;
}

Result<std::unique_ptr<Target>> MakeTarget(const FunctionSettings& function, const Clock& clock,
                                           const Clock& dates, Trusts* trusts) {
  if (function.kind == FunctionSettings::Kind::kDirectory)
    return std::unique_ptr<Target>(std::make_unique<Archive>(MakeDirectory(function.directory)));
  if (function.kind == FunctionSettings::Kind::kBucket) {
    ASSIGN_OR_RETURN(std::unique_ptr<ArchivePlace> place, MakeBucket(function, clock));
    return std::unique_ptr<Target>(std::make_unique<Archive>(std::move(place)));
  }
  if (function.kind == FunctionSettings::Kind::kKafka)
    return std::unique_ptr<Target>(std::make_unique<KafkaTopic>(function, clock));
  if (function.kind == FunctionSettings::Kind::kKinesis) {
    ASSIGN_OR_RETURN(std::unique_ptr<KinesisClient> client,
                     KinesisClient::Make(function, clock, trusts));
    return std::unique_ptr<Target>(
        std::make_unique<KinesisStream>(function, std::move(client), clock));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<HttpFunction> made,
                   HttpFunction::Make(function, clock, dates, trusts));
  return std::unique_ptr<Target>(std::move(made));
}

}  // namespace stator::triggers
