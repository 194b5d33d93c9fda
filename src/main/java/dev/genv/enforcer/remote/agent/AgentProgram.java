package dev.genv.enforcer.remote.agent;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The Python program of the agent, and how it gets to a machine.
 *
 * @param command starts Python with a line that reads the program from standard input. It executes only the whole and undamaged
 *     program.
 * @param text the program
 */
record AgentProgram(String command, String text) {
    /** The path that sudoers names. */
    static final String PYTHON = "/usr/bin/python3";

    /** The first one defines what the others need. */
    private static final String PARTS = Stream.of(("base children files trusted machine processes relations gpu devices"
                            + " holders state lease observe act serve")
                    .split(" "))
            .map(AgentProgram::load)
            .collect(Collectors.joining());

    /**
     * The name is for people who list processes. {@code -I} and {@code -S} keep files and variables of the login user out of the program. A buffer of one byte reads nothing
     * ahead, because requests follow the program.
     */
    private static final String COMMAND = PYTHON + " -I -S -c '\"genv-enforcer\";import binascii,io,sys;"
            + "p=io.BufferedReader(io.FileIO(0,closefd=False),1).read(%d);"
            + "exec(p)if binascii.crc32(p)&0xFFFFFFFF==0x%s else sys.exit(\"the agent arrived damaged\")'";

    /** Returns the program of agents that end after this time without a request. */
    static AgentProgram withIdleTime(Duration longest) {
        var text = PARTS + "serve({'observe': observe, 'act': act}, %d)\n".formatted(longest.toSeconds() + 1);
        var bytes = text.getBytes(StandardCharsets.UTF_8);
        return new AgentProgram(COMMAND.formatted(bytes.length, AgentOutput.checksum(bytes)), text);
    }

    private static String load(String part) {
        try (var stream = AgentProgram.class.getResourceAsStream(part + ".py")) {
            return new String(Objects.requireNonNull(stream, part).readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the line of a request, which is executed only if it is whole and undamaged. */
    static String line(byte[] json) {
        return new String(json, StandardCharsets.UTF_8) + " " + AgentOutput.checksum(json) + "\n";
    }
}
