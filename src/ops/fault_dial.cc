#include "ops/fault_dial.h"

#include <algorithm>

#include "base/fnv.h"

namespace stator::ops {
int64_t FaultDial::Strike::Micros() const {
  if (!rule.random) return rule.micros;
  return 1 + static_cast<int64_t>(bits % static_cast<uint64_t>(rule.micros));
}

FaultDial::LiveRules FaultDial::Start(std::string_view table, Rules rules) {
  LiveRules live;
  live.reserve(rules.size());
  for (FaultRule& rule : rules) {
    // Consecutive seeds of one generator begin with values of one sequence: the seed is drawn from
    // another.
    // Each table has a sequence of its own.
    const uint64_t seed = SeededRandom(rule.seed ^ Fnv1a(table) ^ (live.size() << 48)).Next();
    live.emplace_back(std::move(rule), seed);
  }
  return live;
}

void FaultDial::SetAll(Tables tables) {
  MutexLock lock(mutex_);
  tables_.clear();
  for (auto& [table, rules] : tables) {
    if (!rules.empty()) tables_.emplace(table, Start(table, std::move(rules)));
  }
  UpdateActive();
}

void FaultDial::Set(const std::string& table, Rules rules) {
  MutexLock lock(mutex_);
  tables_.erase(table);
  if (!rules.empty()) tables_.emplace(table, Start(table, std::move(rules)));
  UpdateActive();
}

void FaultDial::UpdateActive() {
  bool active = false;
  for (const auto& [table, rules] : tables_) {
    active |=
        std::any_of(rules.begin(), rules.end(), [](const Live& rule) { return !rule.spent(); });
  }
  active_.store(active, std::memory_order_relaxed);
}

std::map<std::string, std::vector<FaultDial::State>, std::less<>> FaultDial::Get() const {
  std::map<std::string, std::vector<State>, std::less<>> out;
  MutexLock lock(mutex_);
  for (const auto& [table, rules] : tables_) {
    for (const Live& rule : rules) out[table].push_back(rule.state);
  }
  return out;
}

std::map<std::string, int64_t, std::less<>> FaultDial::Ages() const {
  std::map<std::string, int64_t, std::less<>> ages;
  MutexLock lock(mutex_);
  for (const auto& [table, rules] : tables_) {
    for (const Live& rule : rules) {
      const Fault fault = rule.state.rule.fault;
      if (fault != Fault::kStaleRead && fault != Fault::kIndexDelay) continue;
      int64_t& age = ages[table];
      age = std::max(age, rule.state.rule.micros);
    }
  }
  return ages;
}

std::optional<FaultDial::Strike> FaultDial::Draw(Fault fault, std::string_view table,
                                                 std::string_view operation,
                                                 FunctionRef<bool(const FaultRule&)> applies) {
  if (!CanStrike(fault, operation)) return std::nullopt;
  MutexLock lock(mutex_);
  for (const std::string_view name : {table, std::string_view("*")}) {
    const auto rules = tables_.find(name);
    if (rules == tables_.end()) continue;
    for (Live& live : rules->second) {
      const FaultRule& rule = live.state.rule;
      if (rule.fault != fault || live.spent() || !applies(rule)) continue;
      const auto& only = rule.operations;
      if (!only.empty() && std::find(only.begin(), only.end(), operation) == only.end()) continue;
      ++live.state.asked;
      // Two draws for each request, whatever comes of it: the sequence depends on the number of
      // requests alone.
      const bool strikes = live.random->Unit() < rule.probability;
      const uint64_t bits = live.random->Next();
      if (!strikes) continue;
      ++live.state.struck;
      if (live.spent()) UpdateActive();
      return Strike{rule, bits};
    }
  }
  return std::nullopt;
}

}  // namespace stator::ops
