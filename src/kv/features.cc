#include "kv/features.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace stator::kv {
namespace {

constexpr size_t kMaxName = 64;

// Every name that a version of Stator ever wrote stays here, or its stores could not be opened.
constexpr std::array kKnown = {
    std::string_view("accounts"),              // tables of other accounts (src/table/table_name.h)
    std::string_view("bulk-puts"),             // jobs that put items (src/exchange/job.h)
    std::string_view("change-log"),            // change logs of tables (src/history/change_log.h)
    std::string_view("encryption"),            // encrypted files (src/kv_rocks/store_keys.h)
    std::string_view("identities"),            // records of access control (src/identity)
    std::string_view("kinesis-destinations"),  // where tables send changes (src/table/descriptor.h)
    std::string_view("table-settings"),  // members of a table's descriptor (src/table/descriptor.h)
    std::string_view("trigger-kafka"),   // mappings to topics of Kafka (src/triggers/mapping.h)
    std::string_view("trigger-kinesis"),  // mappings to streams of Kinesis (src/triggers/mapping.h)
    std::string_view("trigger-windows"),  // mappings with tumbling windows (src/triggers/mapping.h)
    std::string_view("triggers"),         // event source mappings (src/triggers/mapping.h)
};

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

}  // namespace

std::span<const std::string_view> KnownFeatures() { return kKnown; }

std::string JoinFeatures(const Features& features) {
  return fmt::format("{}", fmt::join(features, " "));
}

Result<Features> SplitFeatures(std::string_view text) {
  Features features;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (!IsName(text.substr(0, end)))
      return CorruptionError("The list of the features that the store needs is damaged.");
    features.emplace(text.substr(0, end));
    // A blank at the end is no form of JoinFeatures either.
    if (end + 1 == text.size())
      return CorruptionError("The list of the features that the store needs is damaged.");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return features;
}

Status CheckFeatures(std::string_view store, const Features& features,
                     std::span<const std::string_view> known) {
  std::vector<std::string_view> unknown;
  for (const std::string& feature : features) {
    if (std::find(known.begin(), known.end(), feature) == known.end()) unknown.push_back(feature);
  }
  if (unknown.empty()) return OkStatus();
  const bool one = unknown.size() == 1;
  return Error(ErrorCode::kUnavailable,
               fmt::format("{} needs the feature{} {}, which this version of Stator does not know. "
                           "Start the newer Stator that wrote it.",
                           store, one ? "" : "s", fmt::join(unknown, ", ")));
}

void FeatureKeeper::SetFeatureCheck(Check check) {
  MutexLock lock(check_mutex_);
  check_ = std::move(check);
}

FeatureKeeper::Check FeatureKeeper::feature_check() const {
  MutexLock lock(check_mutex_);
  return check_;
}

Status RequireFeature(Engine& engine, std::string_view name) {
  FeatureKeeper* const keeper = engine.feature_keeper();
  if (keeper == nullptr) return OkStatus();
  if (keeper->RequiredFeatures().count(name) > 0) return OkStatus();
  if (const FeatureKeeper::Check check = keeper->feature_check()) TRY(check(name));
  return keeper->AddFeature(name);
}

Features RequiredFeatures(Engine& engine) {
  const FeatureKeeper* const keeper = engine.feature_keeper();
  return keeper == nullptr ? Features() : keeper->RequiredFeatures();
}

}  // namespace stator::kv
