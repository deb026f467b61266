// Explains what is wrong with a command line: names the environment variable that a bad value comes
// from, and suggests the nearest flag or command. Internal to the room.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace stator::server {

// Returns the member of `known` that is most likely meant by `word`, or nothing if none is near: at
// most a third of the letters differ, swapped neighbors counting once.
std::string Nearest(std::string_view word, const std::vector<std::string>& known);

// Returns the sentence for an error that parsing `arguments` with `app` threw. `local_flags` are
// known besides the options of the app and of the command that was named.
std::string ExplainUsage(const CLI::ParseError& error, const CLI::App& app,
                         const std::vector<std::string>& arguments,
                         const std::vector<std::string>& local_flags);

}  // namespace stator::server
