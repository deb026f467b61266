#include "kv/conformance_model.h"

#include <algorithm>
#include <future>
#include <iterator>
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

// Neighboring ids, ids whose bytes sort differently from their numbers, and every space.
std::vector<Tablet> TestTablets() {
  return {{Space::kCatalog, 1}, {Space::kItems, 1},   {Space::kItems, 2},
          {Space::kItems, 255}, {Space::kItems, 256}, {Space::kLog, 2}};
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
    std::erase_if(tablets_[range.tablet],
                  [&](const auto& entry) { return InRange(entry.first, range.begin, range.end); });
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

Status Model::TakeStamp(Engine& engine, const Batch& batch, Tablet tablet, std::string key,
                        bool written) {
  // After a guard on the batch's own result was checked, the stamp does not change any more.
  Batch guarded;
  guarded.after = {batch.fate};
  guarded.guards = {{tablet, key, 0, batch.fate}};
  const Result<uint64_t> holds = ApplyAndWait(engine, std::move(guarded));
  CONFORMS(holds.ok() || !written, "a guard on what a batch left in any unit holds");
  std::string value;
  ASSIGN_OR_RETURN(const bool found, engine.Get(tablet, key, Tier::kAny, &value));
  CONFORMS(found, "a key that was written is there");
  std::string& kept = tablets_[tablet][key];
  CONFORMS(!written || StampOf(value) > StampOf(kept) || kept.empty(),
           "a key's stamp is a new one");
  CONFORMS(kept.empty() || kept.substr(kStampBytes) == value.substr(kStampBytes),
           "a key has the value that was written");
  kept = value;
  return OkStatus();
}

Status Model::TakeStamps(Engine& engine, const Batch& batch) {
  std::vector<std::pair<Tablet, std::string>> places;
  for (const Guard& guard : batch.guards) places.emplace_back(guard.tablet, guard.key);
  for (const Put& put : batch.puts) places.emplace_back(put.tablet, put.key);
  for (const Delete& gone : batch.deletes) places.emplace_back(gone.tablet, gone.key);
  for (auto& [tablet, keys] : tablets_) {
    for (const DeleteRange& range : batch.range_deletes) {
      for (auto& [key, value] : keys) {
        if (tablet == range.tablet && InRange(key, range.begin, range.end))
          places.emplace_back(tablet, key);
      }
    }
  }
  for (const auto& [tablet, key] : places) {
    const auto kept = tablets_[tablet].find(key);
    std::string value;
    ASSIGN_OR_RETURN(const bool found, engine.Get(tablet, key, Tier::kAny, &value));
    CONFORMS(found == (kept != tablets_[tablet].end()), "a refused batch changes nothing");
    if (!found) continue;
    CONFORMS(kept->second.substr(kStampBytes) == value.substr(kStampBytes),
             "a refused batch leaves values as they were");
    kept->second = value;
  }
  return OkStatus();
}

Status Model::ApplyAsIn(Engine& engine, const Batch& batch, uint64_t stamp) {
  Batch plain = batch;
  std::erase_if(plain.puts, [](const Put& put) { return put.key_stamp_offset >= 0; });
  // The stamps before the batch, for the comparison.
  Apply(plain, 0);
  for (const Put& put : plain.puts) TRY(TakeStamp(engine, batch, put.tablet, put.key, true));
  for (const Add& add : plain.adds) TRY(TakeStamp(engine, batch, add.tablet, add.key, true));
  for (const Put& put : batch.puts) {
    if (put.key_stamp_offset < 0) continue;
    const auto offset = static_cast<size_t>(put.key_stamp_offset);
    std::string begin = put.key, end = put.key;
    SetKeyStamp(&begin, offset, 0);
    SetKeyStamp(&end, offset, UINT64_MAX);
    std::string key;
    TRY(engine.Scan(
        {put.tablet, begin, end}, Tier::kAny, [&](std::string_view found, std::string_view value) {
          if (value.substr(kStampBytes) == std::string_view(put.value).substr(kStampBytes))
            key = found;
          return true;
        }));
    CONFORMS(!key.empty() && !tablets_[put.tablet].contains(key), "a key gets a stamp that is new");
    TRY(TakeStamp(engine, batch, put.tablet, key, true));
  }
  // Guarded keys may have got a new stamp as well.
  for (const Guard& guard : batch.guards) {
    if (tablets_[guard.tablet].contains(guard.key))
      TRY(TakeStamp(engine, batch, guard.tablet, guard.key, false));
  }
  CONFORMS(stamp != 0, "a batch has a stamp");
  return OkStatus();
}

Result<Visited> ScanUpTo(Engine& engine, const Range& range, size_t limit) {
  Visited visited;
  TRY(engine.Scan(range, Tier::kAny, [&](std::string_view key, std::string_view value) {
    visited.emplace_back(key, value);
    return visited.size() < limit;
  }));
  return visited;
}

Result<Visited> ScanAhead(Engine& engine, Range range, size_t limit) {
  std::promise<std::unique_ptr<Ahead>> read;
  engine.ReadAhead(range,
                   [&read](std::unique_ptr<Ahead> ahead) { read.set_value(std::move(ahead)); });
  const std::unique_ptr<Ahead> ahead = read.get_future().get();
  range.ahead = ahead.get();
  Visited visited;
  const Status at_once =
      engine.Scan(range, Tier::kMemory, [&](std::string_view key, std::string_view value) {
        visited.emplace_back(key, value);
        return visited.size() < limit;
      });
  if (at_once.ok()) return visited;
  if (at_once.error().code() != ErrorCode::kWouldBlock) return at_once.error();
  CONFORMS(visited.size() < limit, "a scan that its visitor has ended does not block");
  std::string bound;
  if (!visited.empty()) {
    bound = visited.back().first;
    if (!range.reverse) bound.push_back('\0');
    (range.reverse ? range.end : range.begin) = bound;
    if (!range.end.empty() && range.begin >= range.end) return visited;
    if (range.reverse && bound.empty()) return visited;
  }
  ASSIGN_OR_RETURN(Visited rest, ScanUpTo(engine, range, limit - visited.size()));
  visited.insert(visited.end(), std::make_move_iterator(rest.begin()),
                 std::make_move_iterator(rest.end()));
  return visited;
}

Status Model::ScanMatches(Engine& engine, const Range& range, size_t limit) {
  Visited expected;
  for (const auto& [key, value] : tablets_[range.tablet]) {
    if (InRange(key, range.begin, range.end)) expected.emplace_back(key, value);
  }
  if (range.reverse) std::reverse(expected.begin(), expected.end());
  if (expected.size() > limit) expected.resize(limit);

  ASSIGN_OR_RETURN(const Visited seen, ScanUpTo(engine, range, limit));
  CONFORMS(seen.size() == expected.size(), "a scan visits " + std::to_string(seen.size()) +
                                               " keys instead of " +
                                               std::to_string(expected.size()));
  CONFORMS(seen == expected, "a scan visits other keys or values than the model");
  ASSIGN_OR_RETURN(const Visited ahead, ScanAhead(engine, range, limit));
  CONFORMS(ahead == expected,
           "a scan that is read ahead visits other keys or values than the model");
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
      CONFORMS(exists == (expected != tablets_[tablet].end()),
               "Get and the model disagree on whether a key exists");
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
      CONFORMS(values[i - from].has_value() == (expected != keys.end()),
               "MultiGet and the model disagree on a key");
      if (expected != keys.end())
        CONFORMS(*values[i - from] == expected->second, "MultiGet returns another value");
    }
    size_t visited = 0;
    bool same = true;
    const size_t stop_after = (to - from + 1) / 2;
    for (const size_t most : {to - from, stop_after}) {
      visited = 0;
      TRY(engine.VisitTogether(std::span(points).subspan(from, to - from), Tier::kAny,
                               [&](size_t i, std::optional<std::string_view> value) {
                                 same = same && i == visited && value == values[i];
                                 return ++visited < most;
                               }));
      CONFORMS(same && visited == most, "VisitTogether and MultiGet disagree");
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
  const auto fresh = [&](Tablet in, const std::string& key) {
    return named.emplace(in, key).second;
  };

  if (random_.Below(10) == 0) {
    DeleteRange range{tablet(), RandomKey(), {}};
    if (random_.Below(4) != 0) range.end = RandomKey();
    if (random_.Below(20) == 0) range.begin.clear();
    batch.range_deletes.push_back(std::move(range));
  }
  const uint64_t puts = 1 + random_.Below(4);
  for (uint64_t i = 0; i < puts; ++i) {
    Put put{tablet(), RandomKey(),
            ValueOf("batch " + std::to_string(made_) + "." + std::to_string(i))};
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
    Delete gone{tablet(),
                random_.Below(12) == 0 ? CounterKey(random_.Below(kCounters)) : RandomKey()};
    if (fresh(gone.tablet, gone.key)) batch.deletes.push_back(std::move(gone));
  }
  for (uint64_t i = random_.Below(3); i > 0; --i) {
    Add add{tablet(), CounterKey(random_.Below(kCounters)),
            static_cast<int64_t>(random_.Below(2000)) - 1000};
    if (fresh(add.tablet, add.key)) batch.adds.push_back(std::move(add));
  }
  if (random_.Below(15) == 0) {  // a counter may also be set
    Put put{tablet(), CounterKey(random_.Below(kCounters)),
            EncodeCounter(0, static_cast<int64_t>(random_.Below(100)))};
    if (fresh(put.tablet, put.key)) batch.puts.push_back(std::move(put));
  }
  for (uint64_t i = random_.Below(3); i > 0; --i) {
    Guard guard{tablet(),
                random_.Below(6) == 0 ? CounterKey(random_.Below(kCounters)) : RandomKey(), 0};
    guard.stamp = model.Stamp(guard.tablet, guard.key);
    if (random_.Below(8) == 0)
      guard.stamp = guard.stamp == 0 ? 1 : random_.Below(2) * (guard.stamp - 1);
    batch.guards.push_back(std::move(guard));
  }
  ++made_;
  return batch;
}

}  // namespace stator::kv
