#include "bulk/live_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "api/attribute_json.h"
#include "base/json_writer.h"
#include "bulk/digest.h"
#include "bulk/format.h"
#include "bulk/live_items.h"
#include "bulk/scan.h"

namespace stator::bulk {
namespace {

using Element = simdjson::dom::element;

constexpr int64_t kMostHeld = 200'000;  // items of buckets that differ
constexpr size_t kMostCompared = 1000;  // one by one
constexpr size_t kMostShown = 20;
constexpr int kRounds = 5;
constexpr int64_t kBetweenRounds = 500'000;
constexpr size_t kSample = 500;  // items of each table
constexpr size_t kSamplePage = 20;

// A key, and what both tables have for it.
struct Suspect {
  std::string source_key;  // JSON; empty: it is not known, because the key is masked
  std::string target_key;  // JSON
  std::optional<ItemDigest> source;
  std::optional<ItemDigest> target;
};
using Suspects = std::map<std::string, Suspect>;  // by the encoded key in the target

class Check {
 public:
  Check(const LiveSettings& settings, const Surroundings& around, const model::KeySchema& key,
        Pace& pace, const std::function<Status()>& catch_up, std::atomic<int64_t>* looked)
      : settings_(settings),
        around_(around),
        key_(key),
        pace_(pace),
        catch_up_(catch_up),
        looked_(looked) {}

  Result<CheckReport> Run() {
    source_ = MakeClient(settings_.source, around_);
    target_ = MakeClient(settings_.target, around_);
    report_.all = settings_.check == LiveSettings::Check::kAll;
    if (report_.all) {
      TRY(CompareAll());
    } else {
      TRY(Sample(*source_, true));
      // A masked key does not lead back to the source.
      if (!settings_.mask) TRY(Sample(*target_, false));
    }
    TRY(CompareSuspects());
    using Outcome = CheckReport::Outcome;
    report_.outcome = report_.differ > 0                 ? Outcome::kDiffers
                      : report_.busy > 0 || report_.more ? Outcome::kUndecided
                                                         : Outcome::kEqual;
    return std::move(report_);
  }

 private:
  // Hands over each item of both tables, as the target has it, and its key there; `thread` is below
  // 2 * segments.
  Status VisitBoth(
      const std::function<Status(size_t thread, bool is_source, Element json,
                                 const std::string& item, const std::string& key)>& visit) {
    const size_t segments = settings_.segments;
    return RunTogether(2 * segments, around_.stop, [&](size_t thread) -> Status {
      const bool is_source = thread < segments;
      const auto client = MakeClient(is_source ? settings_.source : settings_.target, around_);
      std::string start;
      do {
        if (around_.stop.stopped()) return Error(ErrorCode::kUnavailable, "interrupted");
        int64_t wait = 0;
        TRY(ScanPage(*client, settings_.table, thread % segments, segments, start, !is_source,
                     [&](const Page& page) -> Status {
                       start = page.next;
                       if (is_source) wait = pace_.Spend(page.read_units);
                       for (const Element json : page.items) {
                         ASSIGN_OR_RETURN(const std::string item, Read(json, is_source));
                         const std::string key =
                             model::KeyAttributesOf(key_, model::ItemView(item));
                         looked_->fetch_add(1, std::memory_order_relaxed);
                         TRY(visit(thread, is_source, json, item, key));
                       }
                       return OkStatus();
                     }));
        if (wait > 0 && !around_.pause(wait)) return Error(ErrorCode::kUnavailable, "interrupted");
      } while (!start.empty());
      return OkStatus();
    });
  }

  Result<std::string> Read(Element json, bool is_source) const {
    static const std::optional<Mask> kNone;
    ASSIGN_OR_RETURN(std::string item, ReadMasked(json, is_source ? settings_.mask : kNone));
    const model::ItemView view(item);
    if (view.Find(key_.partition.name).empty() || (key_.sort && view.Find(key_.sort->name).empty()))
      return ValidationError("an item has no key");
    return item;
  }

  // Returns the key of an item as JSON.
  Result<std::string> OwnKey(Element json) const {
    ASSIGN_OR_RETURN(const std::string item, Read(json, false));
    return KeyText(key_, model::ItemView(item));
  }

  Status CompareAll() {
    std::vector<TableDigest> parts(2 * settings_.segments);
    TRY(VisitBoth([&](size_t thread, bool, Element, const std::string& item,
                      const std::string& key) -> Status {
      parts[thread].Add(key, item);
      return OkStatus();
    }));
    TableDigest source, target;
    for (size_t i = 0; i < parts.size(); ++i)
      (i < settings_.segments ? source : target).Add(parts[i]);
    parts.clear();
    report_.source = source.items();
    report_.target = target.items();
    std::set<size_t> buckets;
    int64_t held = 0;
    for (const size_t bucket : source.Differ(target)) {
      held += source.items(bucket) + target.items(bucket);
      if (!buckets.empty() && held > kMostHeld) {
        report_.more = true;
        break;
      }
      buckets.insert(bucket);
    }
    if (buckets.empty()) return OkStatus();
    if (catch_up_) TRY(catch_up_());
    Mutex mutex;
    TRY(VisitBoth([&](size_t, bool is_source, Element json, const std::string& item,
                      const std::string& key) -> Status {
      if (buckets.count(TableDigest::BucketOf(key)) == 0) return OkStatus();
      ASSIGN_OR_RETURN(std::string own, OwnKey(json));
      const MutexLock lock(mutex);
      Note(is_source, key, item, std::move(own));
      return OkStatus();
    }));
    for (auto each = suspects_.begin(); each != suspects_.end();)
      each = each->second.source == each->second.target ? suspects_.erase(each) : std::next(each);
    return OkStatus();
  }

  void Note(bool is_source, const std::string& key, const std::string& item, std::string own) {
    Suspect& suspect = suspects_[key];
    if (suspect.target_key.empty()) {
      api::AppendItemJson(&suspect.target_key, model::ItemView(key));
      // Without a mask both tables have the same key.
      if (!settings_.mask) suspect.source_key = suspect.target_key;
    }
    if (is_source) suspect.source_key = std::move(own);
    (is_source ? suspect.source : suspect.target) = DigestOf(item);
  }

  // Takes items of segments that chance picks, of ever larger ones until there are enough.
  Status Sample(api_client::Client& client, bool is_source) {
    std::set<std::string> seen;
    for (const size_t segments : {size_t{65'536}, size_t{1024}, size_t{16}, size_t{1}}) {
      for (size_t tries = 0; tries < std::min<size_t>(segments, 32); ++tries) {
        if (seen.size() >= kSample) break;
        JsonWriter json;
        json.Open('{').Field("TableName", settings_.table).Key("ConsistentRead").Bool(true);
        json.Key("TotalSegments").Whole(static_cast<int64_t>(segments));
        json.Key("Segment").Whole(static_cast<int64_t>(around_.random.Below(segments)));
        json.Key("Limit").Whole(segments == 1 ? static_cast<int64_t>(kSample) : kSamplePage);
        ASSIGN_OR_RETURN(const std::string answer,
                         client.Call("DynamoDB_20120810.Scan", json.Close('}').Take()));
        simdjson::dom::parser parser;
        Element root;
        simdjson::dom::array items;
        if (parser.parse(answer).get(root) != simdjson::SUCCESS ||
            root["Items"].get(items) != simdjson::SUCCESS)
          return Error(ErrorCode::kUnavailable, "the answer to Scan is not what DynamoDB answers");
        for (const Element each : items) {
          ASSIGN_OR_RETURN(const std::string item, Read(each, is_source));
          const std::string key = model::KeyAttributesOf(key_, model::ItemView(item));
          ASSIGN_OR_RETURN(std::string own, OwnKey(each));
          seen.insert(key);
          Note(is_source, key, item, std::move(own));
        }
      }
    }
    (is_source ? report_.source : report_.target) = static_cast<int64_t>(seen.size());
    return OkStatus();
  }

  // Returns what a strongly consistent read finds.
  Result<std::optional<ItemDigest>> Get(bool is_source, const std::string& key) {
    JsonWriter json;
    json.Open('{').Field("TableName", settings_.table).Key("ConsistentRead").Bool(true);
    std::string body = json.Take();
    body.pop_back();
    api_client::Client& client = is_source ? *source_ : *target_;
    ASSIGN_OR_RETURN(const std::string answer,
                     client.Call("DynamoDB_20120810.GetItem", body + ",\"Key\":" + key + '}'));
    simdjson::dom::parser parser;
    Element root, found;
    if (parser.parse(answer).get(root) != simdjson::SUCCESS)
      return Error(ErrorCode::kUnavailable, "the answer to GetItem is no JSON");
    if (root["Item"].get(found) != simdjson::SUCCESS) return std::optional<ItemDigest>();
    ASSIGN_OR_RETURN(const std::string item, Read(found, is_source));
    return std::optional<ItemDigest>(DigestOf(item));
  }

  // Compares what seems to differ again: the source's item, then, after all that was written until
  // then is applied, the target's, and the source's again, which tells whether it was written in
  // between.
  Status CompareSuspects() {
    if (report_.all && suspects_.size() > kMostCompared) report_.more = true;
    while (suspects_.size() > std::max(kMostCompared, 2 * kSample))
      suspects_.erase(std::prev(suspects_.end()));
    std::map<std::string, bool> busy;
    // Without a stream, time changes nothing.
    const int rounds = catch_up_ ? kRounds : 1;
    for (int round = 0; round < rounds && !suspects_.empty(); ++round) {
      if (round > 0 && !around_.pause(kBetweenRounds))
        return Error(ErrorCode::kUnavailable, "interrupted");
      for (auto& [key, suspect] : suspects_) {
        if (suspect.source_key.empty()) continue;
        ASSIGN_OR_RETURN(suspect.source, Get(true, suspect.source_key));
      }
      if (catch_up_) TRY(catch_up_());
      busy.clear();
      for (auto each = suspects_.begin(); each != suspects_.end();) {
        Suspect& suspect = each->second;
        ASSIGN_OR_RETURN(suspect.target, Get(false, suspect.target_key));
        if (suspect.source == suspect.target) {
          each = suspects_.erase(each);
          continue;
        }
        if (!suspect.source_key.empty()) {
          ASSIGN_OR_RETURN(const auto again, Get(true, suspect.source_key));
          busy[each->first] = !(again == suspect.source);
        }
        ++each;
      }
    }
    for (const auto& [key, suspect] : suspects_) {
      ++(busy[key] ? report_.busy : report_.differ);
      if (report_.differences.size() >= kMostShown) continue;
      const char* const what = busy[key]         ? "is written all the while"
                               : !suspect.target ? "is in the source only"
                               : !suspect.source ? "is in the target only"
                                                 : "differs";
      report_.differences.push_back(fmt::format("{} {}", suspect.target_key, what));
    }
    return OkStatus();
  }

  const LiveSettings& settings_;
  const Surroundings& around_;
  const model::KeySchema& key_;
  Pace& pace_;
  const std::function<Status()>& catch_up_;
  std::atomic<int64_t>* const looked_;
  std::unique_ptr<api_client::Client> source_;
  std::unique_ptr<api_client::Client> target_;
  Suspects suspects_;
  CheckReport report_;
};

}  // namespace

Result<CheckReport> CheckTables(const LiveSettings& settings, const Surroundings& around,
                                const model::KeySchema& key, Pace& pace,
                                const std::function<Status()>& catch_up,
                                std::atomic<int64_t>* looked) {
  Check work(settings, around, key, pace, catch_up, looked);
  return work.Run();
}

}  // namespace stator::bulk
