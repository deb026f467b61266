// Plays a lesson. Pure and deterministic.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "learn/lesson.h"
#include "simulate/compare.h"

namespace stator::learn {

// The outcome of each scenario. kValidation if one cannot be read.
Result<std::vector<simulate::Variant>> Play(const Lesson& lesson);
// Figures that do not hold, a sentence each; none: the lesson is true.
std::vector<std::string> Broken(const Lesson& lesson,
                                const std::vector<simulate::Variant>& variants);
// The lesson for people: comparison, the first refusal of each scenario, sentences, guidance.
std::string LessonText(const Lesson& lesson, const std::vector<simulate::Variant>& variants);

}  // namespace stator::learn
