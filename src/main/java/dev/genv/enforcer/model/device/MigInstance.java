package dev.genv.enforcer.model.device;

import java.util.Comparator;

/**
 * A MIG device of a GPU.
 *
 * @param gpu the number of its GPU instance
 * @param compute the number of its compute instance
 */
public record MigInstance(int gpu, int compute) implements Comparable<MigInstance> {
    @Override
    public int compareTo(MigInstance other) {
        return Comparator.comparingInt(MigInstance::gpu)
                .thenComparingInt(MigInstance::compute)
                .compare(this, other);
    }
}
