package dev.genv.enforcer.api.view;

import java.util.Map;
import org.eclipse.microprofile.openapi.annotations.media.Schema;
import org.jspecify.annotations.Nullable;

/** The body of a plan request, for the description of the API only: it is read as a stream. */
public record PlanRequestView(
        @Schema(ref = "#/components/schemas/Policy") @Nullable
        Object policy,

        @Nullable Map<String, HostSnapshotView> snapshots) {}
