package dev.genv.enforcer.node.fuzz;

import dev.genv.enforcer.node.fuzz.FuzzNode.Evidence;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Changes what the service reads of a {@link FuzzNode}, at random. */
final class CorruptedEvidence {
    private CorruptedEvidence() {}

    static Evidence corrupted(Evidence original, Mutations random) {
        var now = random.oneIn(2) ? withCorruptedState(original, random) : original;
        var gpus = random.oneIn(3) ? corrupted(now.gpus(), random) : now.gpus();
        var processes = random.oneIn(2) ? corrupted(now.processes(), random) : now.processes();
        var environs = new TreeMap<>(now.environs());
        if (random.oneIn(2)) {
            var pid = random.pick(List.copyOf(environs.keySet()));
            var own = environs.getOrDefault(pid, new byte[0]);
            environs.put(
                    pid,
                    random.oneIn(3)
                            ? environs.getOrDefault(random.pick(List.copyOf(environs.keySet())), own)
                            : random.bytes(own));
        }
        return new Evidence(now.envs(), now.devices(), gpus, processes, environs);
    }

    private static String corrupted(String text, Mutations random) {
        return random.oneIn(3)
                ? new String(random.bytes(text.getBytes(StandardCharsets.UTF_8)), StandardCharsets.UTF_8)
                : random.lines(text);
    }

    static Evidence withCorruptedState(Evidence original, Mutations random) {
        var which = random.number(3);
        return new Evidence(
                which == 0 ? original.envs() : corruptedFile(original.envs(), random),
                which == 1 ? original.devices() : corruptedFile(original.devices(), random),
                original.gpus(),
                original.processes(),
                original.environs());
    }

    private static @Nullable String corruptedFile(@Nullable String file, Mutations random) {
        var bytes = Evidence.bytes(file);
        return bytes == null || random.oneIn(20)
                ? null
                : new String(random.oneIn(4) ? random.bytes(bytes) : random.json(bytes), StandardCharsets.ISO_8859_1);
    }
}
