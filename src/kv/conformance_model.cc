#include "kv/conformance_model.h"

#include <algorithm>
#include <set>

namespace stator::kv {
namespace {

constexpr uint64_t kKeys = 60;
constexpr uint64_t kCounters = 4;

bool InRange(const std::string& key, std::string_view begin, std::string_view end) {
  return key >= begin && (end.empty() || key < end);
}

}  // namespace

std::string ValueOf(std::string_view text) { return std::string(kStampBytes, '\0').append(text); }

// Neighbouring ids, ids whose bytes sort differently from their numbers, and every space.
std::vector<Tablet> TestTablets() {
  return {{Space::kCatalog, 1}, {Space::kItems, 1}, {Space::kItems, 2}, {Space::kItems, 255}, {Space::kItems, 256}, {Space::kLog, 2}};
}

uint64_t Model::Stamp(Tablet tablet, const std::string& key) const {
  auto keys = tablets_.find(tablet);
  if (keys == tablets_.end()) return 0;
  auto found = keys->second.find(key);
  return found == keys->second.end() ? 0 : StampOf(found->second);
}

bool Model::Allows(const Batch& batch) const {
  for (const Guard& guard : batch.guards) {
    if (Stamp(guard.tablet, guard.key) != guard.stamp) return false;
  }
  return true;
}

void Model::Apply(const Batch& batch, uint64_t stamp) {
  for (const DeleteRange& range : batch.range_deletes) {
    std::erase_if(tablets_[range.tablet], [&](const auto& entry) { return InRange(entry.first, range.begin, range.end); });
  }
  for (Put put : batch.puts) {
    SetStamp(&put.value, stamp);
    if (put.key_stamp_offset >= 0) SetKeyStamp(&put.key, put.key_stamp_offset, stamp);
    tablets_[put.tablet][put.key] = put.value;
  }
  for (const Delete& gone : batch.deletes) tablets_[gone.tablet].erase(gone.key);
  for (const Add& add : batch.adds) {
    std::string& value = tablets_[add.tablet][add.key];
    const int64_t count = value.empty() ? 0 : *CounterOf(value);
    value = EncodeCounter(stamp, count + add.delta);
  }
}

Status Model::ScanMatches(Engine& engine, const Range& range, size_t limit) {
  std::vector<std::pair<std::string, std::string>> expected;
  for (const auto& [key, value] : tablets_[range.tablet]) {
    if (InRange(key, range.begin, range.end)) expected.emplace_back(key, value);
  }
  if (range.reverse) std::reverse(expected.begin(), expected.end());
  if (expected.size() > limit) expected.resize(limit);

  std::vector<std::pair<std::string, std::string>> seen;
  TRY(engine.Scan(range, Tier::kAny, [&](std::string_view key, std::string_view value) {
    seen.emplace_back(key, value);
    return seen.size() < limit;
  }));
  CONFORMS(seen.size() == expected.size(), "a scan visits " + std::to_string(seen.size()) + " keys instead of " +
                                               std::to_string(expected.size()));
  CONFORMS(seen == expected, "a scan visits other keys or values than the model");
  return OkStatus();
}

Status Model::Matches(Engine& engine, const std::vector<Tablet>& tablets, Random& random) {
  std::vector<std::string> names;
  std::vector<Tablet> owners;
  for (Tablet tablet : tablets) {
    TRY(ScanMatches(engine, {tablet, {}, {}, false}, SIZE_MAX));
    TRY(ScanMatches(engine, {tablet, {}, {}, true}, SIZE_MAX));
    for (int i = 0; i < 4; ++i) {
      const std::string begin = "k" + std::to_string(random.Below(kKeys));
      const std::string end = random.Below(4) == 0 ? "" : "k" + std::to_string(random.Below(kKeys));
      TRY(ScanMatches(engine, {tablet, begin, end, random.Below(2) == 0}, 1 + random.Below(10)));
    }
    for (uint64_t i = 0; i < kKeys; i += 1 + random.Below(8)) {
      names.push_back("k" + std::to_string(i));
      owners.push_back(tablet);
      std::string value = "left over from before";
      ASSIGN_OR_RETURN(const bool exists, engine.Get(tablet, names.back(), Tier::kAny, &value));
      auto expected = tablets_[tablet].find(names.back());
      CONFORMS(exists == (expected != tablets_[tablet].end()), "Get and the model disagree on whether a key exists");
      if (exists) CONFORMS(value == expected->second, "Get returns another value than the model");
    }
  }
  std::vector<Point> points;
  for (size_t i = 0; i < names.size(); ++i) points.push_back({owners[i], names[i]});
  const bool together = engine.capabilities().atomic_across_tablets;
  for (size_t from = 0; from < points.size();) {
    size_t to = from + 1;
    while (to < points.size() && (together || points[to].tablet == points[from].tablet)) ++to;
    std::vector<std::optional<std::string>> values;
    TRY(engine.MultiGet(std::span(points).subspan(from, to - from), Tier::kAny, &values));
    CONFORMS(values.size() == to - from, "MultiGet returns one value per point");
    for (size_t i = from; i < to; ++i) {
      const Keys& keys = tablets_[owners[i]];
      auto expected = keys.find(names[i]);
      CONFORMS(values[i - from].has_value() == (expected != keys.end()), "MultiGet and the model disagree on a key");
      if (expected != keys.end()) CONFORMS(*values[i - from] == expected->second, "MultiGet returns another value");
    }
    from = to;
  }
  return OkStatus();
}

std::string BatchMaker::RandomKey() { return "k" + std::to_string(random_.Below(kKeys)); }

Batch BatchMaker::Make(const Model& model) {
  Batch batch;
  std::set<std::pair<Tablet, std::string>> named;
  const Tablet home = RandomTablet();
  const auto tablet = [&] { return spans_tablets_ ? RandomTablet() : home; };
  const auto fresh = [&](Tablet in, const std::string& key) { return named.emplace(in, key).second; };

  if (random_.Below(10) == 0) {
    DeleteRange range{tablet(), RandomKey(), {}};
    if (random_.Below(4) != 0) range.end = RandomKey();
    if (random_.Below(20) == 0) range.begin.clear();
    batch.range_deletes.push_back(std::move(range));
  }
  const uint64_t puts = 1 + random_.Below(4);
  for (uint64_t i = 0; i < puts; ++i) {
    Put put{tablet(), RandomKey(), ValueOf("batch " + std::to_string(made_) + "." + std::to_string(i))};
    put.value.append(random_.Below(200), 'x');
    if (random_.Below(8) == 0) {
      put.key = "log" + std::string(kStampBytes, '\0') + std::to_string(i);
      put.key_stamp_offset = 3;
    }
    if (i > 0 && !fresh(put.tablet, put.key)) continue;
    if (i == 0) fresh(put.tablet, put.key);
    batch.puts.push_back(std::move(put));
  }
  for (uint64_t i = random_.Below(3); i > 0; --i) {
    Delete gone{tablet(), random_.Below(12) == 0 ? CounterKey(random_.Below(kCounters)) : RandomKey()};
    if (fresh(gone.tablet, gone.key)) batch.deletes.push_back(std::move(gone));
  }
  for (uint64_t i = random_.Below(3); i > 0; --i) {
    Add add{tablet(), CounterKey(random_.Below(kCounters)), static_cast<int64_t>(random_.Below(2000)) - 1000};
    if (fresh(add.tablet, add.key)) batch.adds.push_back(std::move(add));
  }
  if (random_.Below(15) == 0) {  // a counter may also be set
    Put put{tablet(), CounterKey(random_.Below(kCounters)), EncodeCounter(0, static_cast<int64_t>(random_.Below(100)))};
    if (fresh(put.tablet, put.key)) batch.puts.push_back(std::move(put));
  }
  for (uint64_t i = random_.Below(3); i > 0; --i) {
    Guard guard{tablet(), random_.Below(6) == 0 ? CounterKey(random_.Below(kCounters)) : RandomKey(), 0};
    guard.stamp = model.Stamp(guard.tablet, guard.key);
    if (random_.Below(8) == 0) guard.stamp = guard.stamp == 0 ? 1 : random_.Below(2) * (guard.stamp - 1);
    batch.guards.push_back(std::move(guard));
  }
  ++made_;
  return batch;
}

}  // namespace stator::kv
