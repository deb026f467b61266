#include "guard/judgement.h"

#include <fmt/format.h>

#include <algorithm>

namespace stator::guard {
namespace {

std::string_view Article(std::string_view noun) { return noun.starts_with('i') ? "an" : "a"; }

}  // namespace

Judgement JudgementOf(std::string_view action, std::string_view resource,
                      const access::Decision& decision) {
  Judgement judgement;
  judgement.action = action;
  judgement.resource = resource;
  judgement.allowed = decision.allowed;
  judgement.explicit_deny = decision.explicit_deny;
  judgement.type = decision.type;
  if (decision.policy != nullptr) judgement.policy = decision.policy->name();
  if (decision.policy != nullptr && decision.statement != nullptr) {
    judgement.sid = decision.statement->sid();
    judgement.statement =
        static_cast<int>(decision.statement - decision.policy->statements().data());
  }
  return judgement;
}

std::string Explain(const Judgement& judgement) {
  const std::string_view type = access::PolicyTypeName(judgement.type);
  if (judgement.statement >= 0) {
    const std::string name =
        judgement.sid.empty() ? std::string() : fmt::format("\"{}\" ", judgement.sid);
    return fmt::format("{} by statement {}(number {}) of the {} {}",
                       judgement.allowed ? "allowed" : "denied", name, judgement.statement + 1,
                       type, judgement.policy);
  }
  if (judgement.allowed) {
    return judgement.type == access::PolicyType::kNone
               ? "allowed: every caller may do it"
               : "allowed: the root user needs no statement";
  }
  if (judgement.explicit_deny)
    return fmt::format("denied: {} {} cannot be read, so it denies everything", Article(type),
                       type);
  return fmt::format("denied: no statement of {} {} allows it", Article(type), type);
}

void Judgements::Add(Judgement judgement) {
  if (std::find(list_.begin(), list_.end(), judgement) != list_.end()) return;
  if (list_.size() < kMost) {
    list_.push_back(std::move(judgement));
    return;
  }
  ++left_out_;
  if (!judgement.allowed) list_.back() = std::move(judgement);
}

}  // namespace stator::guard
