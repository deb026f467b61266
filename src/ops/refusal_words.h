// The words that the message of a throttled request has around the service's sentence.
#pragma once

#include <string>

namespace stator::ops {

struct RefusalWords {
  std::string first;  // before the service's sentence: the cause and its cure
  std::string last;   // behind it: the lesson's name; may be empty
};

}  // namespace stator::ops
