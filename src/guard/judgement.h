// A decision about one action on one resource with its deciding statement: for the audit log and
// for questions why.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "access/authorize.h"

namespace stator::guard {

struct Judgement {
  std::string action;    // "dynamodb:GetItem"
  std::string resource;  // an ARN, or "*"
  bool allowed = false;
  bool explicit_deny = false;
  access::PolicyType type = access::PolicyType::kNone;
  // The deciding statement. Empty and -1: no statement decided.
  std::string policy;  // its ARN, or the name of an inline policy
  std::string sid;
  int statement = -1;  // from 0
  friend bool operator==(const Judgement&, const Judgement&) = default;
};

Judgement JudgementOf(std::string_view action, std::string_view resource,
                      const access::Decision& decision);

// Returns a sentence for people: "allowed by statement "Read" (number 1) of the identity-based
// policy reader".
std::string Explain(const Judgement& judgement);

// The judgements of one request, without repetitions. Not thread-safe.
class Judgements {
 public:
  static constexpr size_t kMost = 24;

  // Keeps the first kMost; of a denial, which ends a request that is refused, the last one too.
  void Add(Judgement judgement);
  const std::vector<Judgement>& list() const { return list_; }
  size_t left_out() const { return left_out_; }

 private:
  std::vector<Judgement> list_;
  size_t left_out_ = 0;
};

}  // namespace stator::guard
