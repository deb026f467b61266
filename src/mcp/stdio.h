// The protocol over standard input and output: one message a line.
#pragma once

#include "mcp/protocol.h"

namespace stator::mcp {

// Reads messages from `in` and writes answers to `out` (file descriptors) until `in` ends or `out`
// can take no more. A line longer than kMostMessageBytes is skipped and refused; no more of it is
// kept. Blocks. SIGPIPE must be ignored.
void ServeLines(int in, int out, const Protocol& protocol);

}  // namespace stator::mcp
